"""plume doctor"""
