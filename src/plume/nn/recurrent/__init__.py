"""Recurrent networks: layers, their steps through time, both directions, and decoders that read a vector or look at a source."""
