"""Everything that a recipe is declared with, to import from one place: `from plume.parts import Recipe, masked_lm, replace`.

Known parts, and the bases that parts of one's own derive from (a `Corrupt`, a `Head` with its `HeadModule`, a `PositionScheme` with its
`PositionModule` …), each with what its methods are handed. `import plume` does not import this file, and so no torch.

>>> from plume.parts import Learned, Tokens
>>> Tokens(rate=0.2).share, Learned().longest
(0.2, 512)
"""

from __future__ import annotations

from plume.core.batch import Encoded, Order, Target
from plume.core.errors import PlumeError
from plume.core.part import Part, replace
from plume.core.seeds import Draws
from plume.data.corpus import CorpusKind
from plume.data.layouts.adjacent import AdjacentTexts
from plume.data.layouts.carried import Carried, DocumentField, SpanField
from plume.data.layouts.inverse_cloze import InverseCloze
from plume.data.layouts.labelled import CodedBlocks, LabelledDocuments
from plume.data.layouts.layout import Blocks, FullSentences, Layout, PairLabel, RowPlan, SentencePairs
from plume.data.layouts.neighbours import Neighbours, NeighbourSide
from plume.data.layouts.pairs import Direction, Fit, OneSide, Translations
from plume.data.layouts.sentences import DocumentSentences
from plume.data.layouts.single_sentences import SingleSentences
from plume.data.layouts.streams import InStreams, Streams, StreamsWithPairs
from plume.data.store import Store
from plume.heads.answer_span import AnswerSpan
from plume.heads.attention_classification import AttentionClassification
from plume.heads.cnn_softmax import CNNSoftmax
from plume.heads.cognitive import CognitiveGraph
from plume.heads.copying import Copying
from plume.heads.entity_denoising import EntityDenoising
from plume.heads.entity_disambiguation import EntityDisambiguation
from plume.heads.entity_prediction import EntityLinking, EntityPrediction, MentionDetection
from plume.heads.fact_prediction import FactPrediction
from plume.heads.head import Dims, Head, HeadModule, Loss, at, precise
from plume.heads.judged_span import JudgedSpan
from plume.heads.matching import Matching
from plume.heads.own_text import OwnText
from plume.heads.sampled_softmax import SampledSoftmax
from plume.heads.sentence_classification import Choice, MultiLabelClassification, SentenceClassification, SentenceRegression
from plume.heads.span_boundary import SpanBoundary
from plume.heads.token_classification import BinaryTokenClassification
from plume.heads.token_labelling import TokenLabelling
from plume.heads.token_prediction import TokenPrediction
from plume.model.assembly import (
    Assembly,
    AttentionalDecoder,
    BothWays,
    EncoderDecoder,
    GeneratorDiscriminator,
    NeighbourDecoders,
    OneNetwork,
    QueryStart,
    TwoDirections,
    TwoStreams,
)
from plume.model.memory import Memory
from plume.model.optimizers.adafactor import Adafactor
from plume.model.optimizers.adamw import AdamW
from plume.model.optimizers.lamb import LAMB
from plume.model.optimizers.muon import Muon
from plume.model.optimizers.optimizer import Optimizer
from plume.model.recipe import Recipe, Training
from plume.model.retriever_reader import RetrieverReader
from plume.model.schedule import (
    Constant,
    Cosine,
    CosineRestarts,
    HeldInverseSquareRoot,
    InverseSquareRoot,
    Linear,
    LinearStages,
    Polynomial,
    Schedule,
    SlantedTriangular,
)
from plume.model.warm_start import WarmStart
from plume.nn.activation import Activation
from plume.nn.attention import Sight
from plume.nn.between import Between, BetweenModule
from plume.nn.block import Norm, NormKind
from plume.nn.bounded_embedding import BoundedEmbedding
from plume.nn.character_embedding import CharacterEmbedding
from plume.nn.characters import CharacterCNN
from plume.nn.embedding import Embedding, EmbeddingModule
from plume.nn.knowledge.entity_memory import EntityMemory
from plume.nn.knowledge.fused import EntityTransformer
from plume.nn.knowledge.recontextualisation import KnowledgeAttention
from plume.nn.network import Network
from plume.nn.positions.functional import Functional
from plume.nn.positions.learned import Learned
from plume.nn.positions.relative import Relative
from plume.nn.positions.rotary import Rotary
from plume.nn.positions.scheme import NoPositions, PositionModule, PositionScheme
from plume.nn.positions.sinusoidal import SineColumns, Sinusoidal
from plume.nn.positions.t5 import Buckets, LearnedAndBuckets
from plume.nn.positions.two_dimensional import TwoDimensional
from plume.nn.recurrent.layer import RecurrentCell, Start
from plume.nn.recurrent.recurrent import Recurrent
from plume.nn.recurrent.vector_decoder import Conditioning
from plume.nn.stack import Sharing, Transformer
from plume.noise.apart import Apart
from plume.noise.appended import AppendedSpans
from plume.noise.blanks import LongBlank, PoissonBlanks, SentenceBlanks
from plume.noise.corrupt import Corrupt, Draw, Keep, Mask, Per, Shown
from plume.noise.decoder_target import Continuation, DecoderTarget, SecondText, TheSpan, TheSpans, WholeText
from plume.noise.geometric import GeometricSpans
from plume.noise.infilling import Delete, OneMask
from plume.noise.key_sentences import KeySentences, Principal
from plume.noise.links import InPlaceWithForms, InPlaceWithLinks
from plume.noise.mentions import InPlaceWithMentions, MaskMentions, Mentions
from plume.noise.noise import Noise
from plume.noise.permuted import MaskedPermuted, NGramsInContext, Permuted
from plume.noise.rearrange import InOrder, PermutedSentences, Rearrange, RotatedDocument
from plume.noise.rows import Alphabet, Rows
from plume.noise.salient import SalientSpan
from plume.noise.select import Chosen, NGrams, Nothing, Rate, Rounding, Select, Tokens, WholeWords
from plume.noise.sentinels import Sentinels, SpansAfterSentinels
from plume.noise.shuffled import Shuffled
from plume.noise.skip_grams import SkipGrams
from plume.noise.span_boundary import InPlaceWithBoundaries
from plume.noise.spans import MeanSpans, OneSpan, PoissonSpans, TextShare
from plume.noise.target import Aim, InPlace, NextOfSecondText, NextToken, PreviousToken, SecondQuestion, Source, TargetRule
from plume.noise.words import Unit
from plume.objectives._objective import Answers, Objective
from plume.objectives.backward_lm import backward_lm
from plume.objectives.bidirectional_lm import bidirectional_lm
from plume.objectives.blank_infilling import blank_infilling
from plume.objectives.causal_lm import causal_lm
from plume.objectives.continuation import continuation
from plume.objectives.denoising import denoising
from plume.objectives.document_infilling import document_infilling
from plume.objectives.document_rotation import document_rotation
from plume.objectives.emoji_prediction import emoji_prediction
from plume.objectives.entity_copying import entity_copying
from plume.objectives.entity_denoising import entity_denoising
from plume.objectives.entity_disambiguation import entity_disambiguation
from plume.objectives.entity_linking import entity_linking
from plume.objectives.entity_masking import entity_masking
from plume.objectives.entity_prediction import entity_prediction
from plume.objectives.fact_prediction import fact_prediction
from plume.objectives.following_sentence import following_sentence
from plume.objectives.gap_sentences import gap_sentences
from plume.objectives.inverse_cloze import inverse_cloze
from plume.objectives.left_to_right_lm import left_to_right_lm
from plume.objectives.masked_lm import masked_lm
from plume.objectives.masked_permuted_lm import masked_permuted_lm
from plume.objectives.masked_seq2seq import masked_seq2seq
from plume.objectives.mention_detection import mention_detection
from plume.objectives.next_sentence import next_sentence
from plume.objectives.permuted_lm import permuted_lm
from plume.objectives.phrase_masking import phrase_masking
from plume.objectives.preceding_sentence import preceding_sentence
from plume.objectives.replaced_token_detection import replaced_token_detection
from plume.objectives.right_to_left_lm import right_to_left_lm
from plume.objectives.sentence_infilling import sentence_infilling
from plume.objectives.sentence_order import sentence_order
from plume.objectives.sentence_permutation import sentence_permutation
from plume.objectives.sentence_structure import sentence_structure
from plume.objectives.sequence_to_sequence_lm import sequence_to_sequence_lm
from plume.objectives.span_boundary import span_boundary
from plume.objectives.span_corruption import span_corruption
from plume.objectives.text_after_text import text_after_text
from plume.objectives.text_infilling import text_infilling
from plume.objectives.token_deletion import token_deletion
from plume.objectives.token_masking import token_masking
from plume.objectives.translation import translation
from plume.objectives.translation_lm import translation_lm
from plume.objectives.word_structure import word_structure
from plume.static.phrases import Phrases
from plume.static.recipe import Architecture, FastText, GloVe, StaticLoss, StaticRecipe, Word2Vec
from plume.text.format import Format
from plume.text.tokenizers import BPE, ByteLevelBPE, TokenizerSpec, Unigram, WordPiece
from plume.text.word_level import WordLevel
from plume.text.words import Words

__all__ = [  # noqa: RUF022 - by what they are
    # the record, recipes and how they are trained
    "Order", "PlumeError", "Part", "replace", "Recipe", "Training", "Schedule", "Constant", "Linear", "LinearStages", "Cosine", "CosineRestarts",
    "Polynomial", "InverseSquareRoot", "HeldInverseSquareRoot", "SlantedTriangular", "Optimizer", "AdamW", "LAMB", "Adafactor", "Muon",
    "WarmStart",
    "StaticRecipe", "Word2Vec", "FastText", "GloVe", "Architecture", "StaticLoss", "Phrases",
    # text: how it is cut and framed
    "Format", "TokenizerSpec", "WordPiece", "BPE", "ByteLevelBPE", "Unigram", "WordLevel", "Words",
    # layouts: which stretches of the corpus stand together in one row
    "CorpusKind", "Carried", "SpanField", "DocumentField", "Layout", "RowPlan", "Blocks", "FullSentences", "SentencePairs", "PairLabel",
    "AdjacentTexts", "LabelledDocuments", "CodedBlocks", "Neighbours", "NeighbourSide", "Translations", "OneSide", "Direction", "Fit",
    "DocumentSentences", "SingleSentences", "InverseCloze", "InStreams", "Streams", "StreamsWithPairs", "Store",
    # noise: select × corrupt × target × order, and before all a rearrangement
    "Draws", "Rows", "Alphabet", "Noise", "Select", "Chosen", "Nothing", "Rate", "Tokens", "NGrams", "WholeWords", "Rounding", "Unit",
    "PoissonBlanks", "LongBlank", "SentenceBlanks", "GeometricSpans", "KeySentences", "Principal", "SkipGrams", "TextShare", "MeanSpans",
    "OneSpan", "PoissonSpans", "Corrupt", "Shown", "Keep", "Mask", "Per", "Draw", "OneMask", "Delete", "Shuffled", "Sentinels",
    "SpansAfterSentinels", "TargetRule", "Aim", "Source", "SecondQuestion", "InPlace", "NextToken", "NextOfSecondText",
    "PreviousToken", "InPlaceWithBoundaries", "Mentions", "MaskMentions", "InPlaceWithMentions", "InPlaceWithLinks", "InPlaceWithForms",
    "SalientSpan", "Apart", "AppendedSpans", "NGramsInContext", "Permuted", "MaskedPermuted", "DecoderTarget", "WholeText", "TheSpans", "TheSpan",
    "Continuation", "SecondText", "Rearrange", "InOrder", "PermutedSentences", "RotatedDocument",
    # networks: what the token vectors are, where position enters, what they run through
    "Activation", "Norm", "NormKind", "Network", "Transformer", "Sharing", "Between", "BetweenModule", "EntityMemory",
    "EntityTransformer", "KnowledgeAttention",
    "Sight", "Recurrent", "RecurrentCell", "Start",
    "Conditioning", "Embedding", "EmbeddingModule", "BoundedEmbedding", "CharacterEmbedding", "CharacterCNN", "PositionScheme",
    "PositionModule", "NoPositions", "Learned", "Sinusoidal", "SineColumns", "Rotary", "Relative", "Functional", "Buckets",
    "LearnedAndBuckets", "TwoDimensional", "Assembly", "OneNetwork", "GeneratorDiscriminator", "RetrieverReader", "EncoderDecoder", "TwoDirections",
    "BothWays", "AttentionalDecoder", "NeighbourDecoders", "TwoStreams", "QueryStart", "Memory",
    # heads: who predicts
    "Encoded", "Target", "Head", "HeadModule", "Dims", "Loss", "at", "precise", "TokenPrediction", "CNNSoftmax", "SampledSoftmax",
    "Copying", "OwnText", "SpanBoundary", "EntityPrediction", "FactPrediction", "EntityLinking", "MentionDetection",
    "EntityDenoising", "EntityDisambiguation",
    "BinaryTokenClassification", "TokenLabelling", "AnswerSpan", "JudgedSpan", "CognitiveGraph", "SentenceClassification",
    "MultiLabelClassification", "SentenceRegression", "Choice", "Matching", "AttentionClassification",
    # objectives: what is hidden, who predicts it, how much it weighs
    "Objective", "Answers", "backward_lm", "bidirectional_lm", "blank_infilling", "causal_lm", "continuation", "denoising",
    "document_infilling", "document_rotation", "emoji_prediction", "entity_masking", "following_sentence", "gap_sentences", "inverse_cloze",
    "left_to_right_lm", "masked_lm", "masked_permuted_lm", "masked_seq2seq", "next_sentence", "permuted_lm", "phrase_masking",
    "preceding_sentence", "replaced_token_detection", "right_to_left_lm", "sentence_infilling", "sentence_order", "sentence_permutation",
    "sentence_structure", "sequence_to_sequence_lm", "entity_linking", "entity_prediction", "fact_prediction", "mention_detection",
    "entity_denoising", "entity_copying", "entity_disambiguation",
    "span_boundary", "span_corruption", "text_after_text", "text_infilling",
    "token_deletion",
    "token_masking", "translation", "translation_lm", "word_structure",
]  # fmt: skip
