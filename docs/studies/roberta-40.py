"""RoBERTa with 40% of the tokens masked instead of 15% (arXiv:2202.08005): each step teaches more, which counts where steps are few."""

import plume

RECIPE = plume.recipe("roberta/tiny").override("objectives.masked_lm.noise.select.rate=0.4")
