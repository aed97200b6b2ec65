import random

from plume.data.pair_doctor import examine_pairs

WORDS = ["cat", "dog", "river", "stone", "bridge", "rain", "hill", "cloud", "tree", "bird"]


def sentences(count: int, seed: int = 1) -> list[list[str]]:
    source = random.Random(seed)
    return [[source.choice(WORDS) for _ in range(source.randint(2, 40))] for _ in range(count)]


def test_counts_of_a_sound_corpus(tmp_path):
    text = sentences(200)
    (tmp_path / "a.tsv").write_text("en\tde\n" + "".join(f"{' '.join(line)}\t{' '.join(line[::-1])} {n}\n" for n, line in enumerate(text)))
    found = examine_pairs(tmp_path / "a.tsv")
    assert (found.pairs, found.languages, found.duplicates, found.same, found.unlikely, found.warnings) == (200, ("en", "de"), 0, 0, 0, ())
    assert found.words[0] == sum(map(len, text)) / 200
    assert found.words[1] == found.words[0] + 1


def test_sides_that_slipped_by_one_line_are_noticed(tmp_path):
    left = sentences(200)
    (tmp_path / "a.en").write_text("".join(f"{' '.join(line)}\n" for line in left))
    (tmp_path / "a.de").write_text("".join(f"{' '.join(line)}\n" for line in left[1:] + left[:1]))
    found = examine_pairs(tmp_path)
    assert found.unlikely > 20
    assert any("do the sides align" in warning for warning in found.warnings)


def test_equal_sides_and_duplicates(tmp_path):
    (tmp_path / "a.tsv").write_text("one two\tone two\n" * 10 + "".join(f"a {n}\tb {n}\n" for n in range(40)))
    found = examine_pairs(tmp_path / "a.tsv")
    assert (found.same, found.duplicates) == (10, 9)
    assert len(found.warnings) == 2
