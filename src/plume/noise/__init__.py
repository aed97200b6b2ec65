"""Noise = select × corrupt × target × order. numpy only; pure functions of rows and their random draws."""
