"""The building blocks of networks: attention, blocks, recurrent layers, positions, embeddings."""
