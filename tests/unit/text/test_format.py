from plume.core.part import part_from_json, replace
from plume.text.format import BERT, GPT, ROBERTA


def test_special_tokens_come_in_the_order_of_their_published_ids():
    assert BERT.specials() == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    assert ROBERTA.specials() == ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    assert GPT.specials() == ("<|endoftext|>",)


def test_tokens_without_a_role_can_be_listed_and_come_where_they_are_put():
    changed = replace(BERT, order=("[PAD]", "<extra>"))
    assert changed.specials() == ("[PAD]", "<extra>", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def test_json_round_trip():
    assert all(part_from_json(form.to_json()) == form for form in (BERT, ROBERTA, GPT))


def test_three_texts_bring_their_own_special_tokens():
    changed = replace(BERT, triple=("A", "B", "[SEP]", "C", "[SEP]", "<last>"), triple_segments=(0, 0, 0, 1, 1, 2))
    assert changed.specials() == (*BERT.specials(), "<last>")
    assert part_from_json(changed.to_json()) == changed
