"""ELMo that reads each Chinese character as a word: plume's own reads words that jieba found, which helps little where characters are tagged."""

import plume

RECIPE = plume.recipe("elmo/tiny").override("tokenizer.chinese=spaces")
