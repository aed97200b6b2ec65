"""BERT's small size as it would start by the paper, with all weights at random; plume's own starts with attention at the neighbours."""

import plume

RECIPE = plume.recipe("bert/tiny").override("positions.local=false")
