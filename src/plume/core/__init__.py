"""Records and rules that every other room builds on. Imports nothing of plume, and no torch."""
