"""Writes the small files beside this script, which the pages in docs/tasks use: python examples/tasks/make.py

Everything is made up, from the phrases in phrases.json and a fixed seed, and so regular that a tiny model learns it in seconds. What a model
scores here says that a task works, and nothing about the model.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).parent
TRAIN, DEV = 100, 30  # examples of a file

# Of topics: who, what they did, and where or when. Spaces in the Chinese stand between words; only the file for segmentation keeps them.
WORDS: Any = SimpleNamespace(**json.loads((Path(__file__).parent / "phrases.json").read_text(encoding="utf-8")))

KNOWLEDGE = SimpleNamespace(
    books=[
        f"The {one} {other}" for one in ("Silent", "Red", "Last", "Hidden", "Northern") for other in ("River", "Garden", "Winter", "Letter")
    ],
    people=[f"{one} {other}" for one in ("Ada", "Ben", "Clara", "Emil") for other in ("Stone", "Marsh", "Hill")],
    towns=["Oldbridge", "Whitby", "Karlsund", "Port Ellis"],
    jobs=["teacher", "doctor", "painter", "farmer"],
    relations=("author", "year of publication", "place of residence", "occupation"),
    questions=[
        (("author", ""), ("Who wrote {}?", "Who is the author of {}?")),
        (("year of publication", ""), ("When did {} come out?", "In which year was {} published?")),
        (("place of residence", ""), ("Where does {} live?",)),
        (("occupation", ""), ("What does {} do for a living?", "What is the occupation of {}?")),
        (("author", "place of residence"), ("Where does the author of {} live?",)),
        (("author", "occupation"), ("What does the author of {} do for a living?",)),
    ],
)
KNOWLEDGE_ZH = SimpleNamespace(
    books=[f"《{one}{other}》" for one in ("静静的", "红色的", "最后的", "北方的") for other in ("河流", "花园", "冬天", "来信")],
    people=[f"{one}{other}" for one in ("王", "李", "张", "陈") for other in ("晓明", "文静", "国强")],
    towns=["青石镇", "临江市", "白云县"],
    jobs=["教师", "医生", "画家"],
    relations=("作者", "出版年份", "居住地", "职业"),
    questions=[
        (("作者", ""), ("{}是谁写的？", "{}的作者是谁？")),
        (("出版年份", ""), ("{}是哪一年出版的？", "{}哪一年问世？")),
        (("居住地", ""), ("{}住在哪里？",)),
        (("职业", ""), ("{}是做什么工作的？", "{}的职业是什么？")),
        (("作者", "居住地"), ("{}的作者住在哪里？",)),
        (("作者", "职业"), ("{}的作者是做什么工作的？",)),
    ],
)

Example = Any
Maker = Callable[[random.Random], Example]


def topic_sentence(draw: random.Random, topic: str) -> str:
    """One of the topic; Chinese with spaces between its words."""
    if topic in WORDS.topics:
        who, did, where = (draw.choice(part.split("|")) for part in WORDS.topics[topic])
        return f"{who.capitalize()} {did} {where}."
    who, did, where = (draw.choice(part.split("|")) for part in WORDS.topics_zh[topic])
    return f"{who} {where} {did} 。"


def chinese(text: str) -> str:
    return text.replace(" ", "")


def topic(draw: random.Random) -> tuple[str, str]:
    name = draw.choice(list(WORDS.topics))
    return topic_sentence(draw, name), name


def topic_zh(draw: random.Random) -> dict[str, str]:
    name = draw.choice(list(WORDS.topics_zh))
    return {"text": chinese(topic_sentence(draw, name)), "label": name}


def review(draw: random.Random) -> tuple[str, str]:
    label, words = draw.choice([("positive", WORDS.good), ("negative", WORDS.bad)])
    one, other = draw.sample(WORDS.things, 2)
    return f"The {one} was {draw.choice(words)} and the {other} was {draw.choice(words)}.", label


def rating(draw: random.Random) -> tuple[str, int]:
    word = draw.choice(list(WORDS.stars))
    if word.isascii():
        one, other = draw.sample(WORDS.things, 2)
        return f"The {one} was {word}, and so was the {other}.", WORDS.stars[word]
    one, other = draw.sample(WORDS.things_zh, 2)
    return f"{one}{word}，{other}也{word}。", WORDS.stars[word]


def aspects(draw: random.Random) -> tuple[str, str]:
    names = sorted(draw.sample(list(WORDS.aspects), draw.choice([0, 1, 1, 2, 2, 3])))
    said = [draw.choice(WORDS.aspects[name]) for name in names]
    return "，".join(["我们" + draw.choice(WORDS.days_zh) + "去了" + draw.choice(WORDS.cities_zh), *said]) + "。", "|".join(names)


def similar(draw: random.Random) -> tuple[str, str, str]:
    """5: the same in other words; 3: of the same topic; 0: of another."""
    one, other = draw.sample(list(WORDS.topics), 2)
    first, score = topic_sentence(draw, one), draw.choice([5, 3, 0])
    if score == 5:
        second = f"We heard that {first[0].lower()}{first[1:]}"
    else:
        second = topic_sentence(draw, one if score else other)
    return first, second, f"{score}.0"


def inference(draw: random.Random) -> dict[str, str]:
    name, other = draw.sample(list(WORDS.topics), 2)
    premise, label = topic_sentence(draw, name), draw.choice(["entailment", "contradiction", "neutral"])
    did = premise.split(" ", 2)[2]
    said = {
        "entailment": (f"Somebody or something {did}", f"This text is about {name}."),
        "contradiction": (f"Nobody and nothing {did}", f"This text is about {other}."),
        "neutral": (f"{draw.choice(WORDS.people)} is happy about it.", f"{draw.choice(WORDS.people)} was there too."),
    }
    return {"premise": premise, "hypothesis": draw.choice(said[label]), "label": label}


def same_question(draw: random.Random, *subjects: str) -> tuple[str, str, str]:
    one, other = draw.sample(subjects or list(WORDS.asked), 2)
    city, label = draw.choice(WORDS.cities_zh), draw.choice("01")
    first, second = draw.sample(WORDS.asked[one], 2)
    return first.format(city), (second if label == "1" else draw.choice(WORDS.asked[other])).format(city), label


def choice(draw: random.Random) -> dict[str, Any]:
    need = draw.choice(list(WORDS.needs))
    english = need.isascii()
    others = [thing for thing in WORDS.needs.values() if thing.isascii() == english and thing != WORDS.needs[need]]
    choices = draw.sample([WORDS.needs[need], *draw.sample(others, 2)], 3)
    person = draw.choice(WORDS.people if english else WORDS.people_zh)
    context = f"{person} wants to {need}." if english else f"{person}要{need}。"
    question = f"What does {person} need?" if english else f"{person}需要什么？"
    return {"context": context, "question": question, "choices": choices, "answer": choices.index(WORDS.needs[need])}


def entities(draw: random.Random) -> list[tuple[str, str]]:
    form = draw.choice(
        (
            "PER works for ORG in LOC .",
            "PER moved from LOC to LOC on DAY .",
            "The ORG office in LOC opened on DAY .",
            "ORG asked PER to come to LOC .",
        )
    )
    names = {"PER": WORDS.people, "ORG": WORDS.firms, "LOC": WORDS.cities}
    rows: list[tuple[str, str]] = []
    for word in form.split():
        if word not in names:
            rows.append((draw.choice(WORDS.days) if word == "DAY" else word, "O"))
            continue
        rows += [(part, f"{'BI'[place > 0]}-{word}") for place, part in enumerate(draw.choice(names[word]).split())]
    return rows


def entities_zh(draw: random.Random) -> dict[str, Any]:
    form = draw.choice(
        (
            "<name>在<organization>读书。",
            "<name>从<address>来到<address>。",
            "<organization>在<address>开会。",
            "<organization>请<name>去<address>。",
        )
    )
    names = {"name": WORDS.people_zh, "organization": WORDS.firms_zh, "address": WORDS.cities_zh}
    text, found = "", {}
    for part in form.replace("<", "|<").replace(">", ">|").split("|"):
        kind = part.strip("<>")
        word = draw.choice(names[kind]) if kind in names else part
        if kind in names:
            found.setdefault(kind, {}).setdefault(word, []).append([len(text), len(text) + len(word) - 1])
        text += word
    return {"text": text, "label": found}


def parts_of_speech(draw: random.Random) -> list[tuple[str, str]]:
    _, did, where = (draw.choice(part.split("|")) for part in WORDS.topics[draw.choice(list(WORDS.topics))])
    tags = (
        dict.fromkeys(("the", "a", "all"), "DET")
        | dict.fromkeys(("with", "in", "on", "after", "for", "from", "without", "at"), "ADP")
        | {"hard": "ADV"}
    )
    verb, *rest = did.split()
    return [
        (draw.choice(WORDS.people), "PROPN"),
        (verb, "VERB"),
        *((word, tags.get(word, "PROPN" if word in WORDS.days else "NOUN")) for word in [*rest, *where.split()]),
        (".", "PUNCT"),
    ]


def segmented(draw: random.Random) -> str:
    return topic_sentence(draw, draw.choice(list(WORDS.topics_zh)))


def answered(draw: random.Random) -> dict[str, Any]:
    """A paragraph of SQuAD 2.0 with one question, which a fifth of the paragraphs do not answer."""
    person, city, firm, day = (draw.choice(names) for names in (WORDS.people, WORDS.cities, WORDS.firms, WORDS.days))
    context = f"{person} works for {firm} in {city} and goes home on {day}. The office is large."
    asked = {
        f"Who works for {firm}?": person,
        f"Where does {person} work?": city,
        f"When does {person} go home?": day,
        f"Which firm does {person} work for?": firm,
        f"What does {person} eat?": None,
    }
    return _paragraph(draw, context, asked)


def answered_zh(draw: random.Random) -> dict[str, Any]:
    person, city, firm, day = (draw.choice(names) for names in (WORDS.people_zh, WORDS.cities_zh, WORDS.firms_zh, WORDS.days_zh))
    asked = {f"谁在{firm}工作？": person, f"{person}住在哪个城市？": city, f"{person}哪一天回家？": day, f"{person}在哪里工作？": firm}
    return _paragraph(draw, f"{person}住在{city}市，在{firm}工作，每到{day}就回家。那里很大。", asked)


def _paragraph(draw: random.Random, context: str, asked: dict[str, str | None]) -> dict[str, Any]:
    question, answer = draw.choice(list(asked.items()))
    answers = [] if answer is None else [{"text": answer, "answer_start": context.index(answer)}]
    return {"context": context, "qas": [{"question": question, "is_impossible": answer is None, "answers": answers}]}


def emoji(draw: random.Random) -> tuple[str, str]:
    face = draw.choice(list(WORDS.faces))
    text = draw.choice(WORDS.faces[face])
    return text + draw.choice(WORDS.tails if text.isascii() else WORDS.tails_zh), face


def translation(draw: random.Random) -> tuple[str, str]:
    who, does, what = (draw.choice(list(words.items())) for words in (WORDS.subjects, WORDS.verbs, WORDS.objects))
    return f"{who[0]} {does[0]} {what[0]} .".capitalize().replace(" .", "."), f"{who[1]}{does[1]}{what[1]}。"


def summary(draw: random.Random) -> dict[str, str]:
    who, did, where = (draw.choice(part.split("|")) for part in WORDS.topics[draw.choice(list(WORDS.topics))])
    document = f"{who.capitalize()} {did} {where}. {draw.choice(WORDS.people)} told us so on {draw.choice(WORDS.days)}."
    return {"document": document, "summary": f"{who.split()[-1]} {did}".capitalize()}


def rewritten(draw: random.Random) -> tuple[str, str]:
    person, city, firm = (draw.choice(names) for names in (WORDS.people, WORDS.cities, WORDS.firms))
    return draw.choice(
        [(f"{person} works in {city}.", f"Where does {person} work?"), (f"{person} works for {firm}.", f"Who works for {firm}?")]
    )


def triples() -> list[tuple[str, str, str]]:
    """Made-up books, who wrote them, and where those live; in both languages."""
    draw, made = random.Random(4), []
    for kind in (KNOWLEDGE, KNOWLEDGE_ZH):
        for book in kind.books:
            author = draw.choice(kind.people)
            made += [(book, kind.relations[0], author), (book, kind.relations[1], str(draw.randint(1950, 2020)))]
        made += [(person, kind.relations[2], draw.choice(kind.towns)) for person in kind.people]
        made += [(person, kind.relations[3], draw.choice(kind.jobs)) for person in kind.people]
    return made


def known(draw: random.Random) -> tuple[str, str]:
    """A question to the triples, of one step or two, and its answers."""
    facts: dict[tuple[str, str], str] = {(subject, relation): value for subject, relation, value in triples()}
    kind = draw.choice([KNOWLEDGE, KNOWLEDGE_ZH])
    (first, second), wordings = draw.choice(kind.questions)
    topic = draw.choice(kind.books if first in kind.relations[:2] else kind.people)
    value = facts[topic, first]
    return draw.choice(wordings).format(topic), facts[value, second] if second else value


def plain(draw: random.Random) -> str:
    """What the corpus has beside the topics: sentences of every file, without what they are labelled with."""
    makers: tuple[Callable[[], str], ...] = (
        lambda: review(draw)[0], lambda: rating(draw)[0], lambda: aspects(draw)[0], lambda: same_question(draw)[0],
        lambda: " ".join(word for word, _ in entities(draw)).replace(" .", "."), lambda: entities_zh(draw)["text"],
        lambda: answered(draw)["context"], lambda: answered_zh(draw)["context"], lambda: emoji(draw)[0],
        lambda: translation(draw)[draw.randrange(2)], lambda: rewritten(draw)[draw.randrange(2)], lambda: needed(draw),
    )  # fmt: skip
    return draw.choice(makers)()


def talked(draw: random.Random) -> dict[str, Any]:
    """What is asked second is answered by what was said first."""
    if draw.random() < 0.5:
        who, where, does = draw.choice(WORDS.people), draw.choice(WORDS.cities), draw.choice(["work", "live"])
        said = [f"{who} {does}s in {where}.", "Good to know.", f"Where does {who} {does}?", f"In {where}."]
    else:
        who, where, does = draw.choice(WORDS.people_zh), draw.choice(WORDS.cities_zh), draw.choice(["工作", "住"])
        said = [f"{who}在{where}{does}。", "知道了。", f"{who}在哪里{does}？", f"在{where}。"]
    return {"messages": [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(said)]}


def needed(draw: random.Random) -> str:
    need = draw.choice(list(WORDS.needs))
    english = need.isascii()
    return (
        f"{draw.choice(WORDS.people)} needs {WORDS.needs[need]} to {need}."
        if english
        else f"{draw.choice(WORDS.people_zh)}{need}需要{WORDS.needs[need]}。"
    )


def document(draw: random.Random) -> str:
    """A sentence or two of one topic, which the last line names; some questions that mean the same; or something of everything."""
    sort = draw.random()
    if sort < 0.25:
        return "\n".join(plain(draw) for _ in range(4))
    if sort < 0.32:
        city, questions = draw.choice(WORDS.cities_zh), WORDS.asked[draw.choice(list(WORDS.asked))]
        return "\n".join(question.format(city) for question in draw.sample(questions, 3))
    name = draw.choice([*WORDS.topics, *WORDS.topics_zh])
    about = f"This {draw.choice(['', 'text '])}is about {name}." if name in WORDS.topics else f"这是关于{name}的。"
    text = [topic_sentence(draw, name) for _ in range(draw.randint(1, 2))]
    return "\n".join([*(text if name in WORDS.topics else map(chinese, text)), about])


def distinct(maker: Maker, seed: int) -> Iterator[Example]:
    """Without an end, and nothing twice: what dev has, train has not."""
    draw, seen = random.Random(seed), set()
    while True:
        example = maker(draw)
        key = json.dumps(example, ensure_ascii=False)
        if key not in seen:
            seen.add(key)
            yield example


def tsv(rows: list[Example], *header: str) -> str:
    return "".join("\t".join(map(str, row)) + "\n" for row in ([header] if header else []) + rows)


def comma_separated(rows: list[Example]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("text", "score"), *rows])
    return text.getvalue()


def jsonl(rows: list[Example]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def conll(rows: list[Example]) -> str:
    return "\n".join("".join(f"{word} {tag}\n" for word, tag in row) for row in rows)


def conll_u(rows: list[Example]) -> str:
    return "".join("".join(f"{n}\t{word}\t_\t{tag}" + "\t_" * 6 + "\n" for n, (word, tag) in enumerate(row, 1)) + "\n" for row in rows)


def hops(draw: random.Random) -> dict[str, Any]:
    """Where somebody works stands on a page of the firm, and which that is on one of theirs."""
    people, firms = draw.sample(WORDS.people, 2), draw.sample(WORDS.firms, 3)
    cities = draw.sample(WORDS.cities, 3)
    pages = [
        [one, [f"{one} works for {firm}.", f"{one} goes home on {draw.choice(WORDS.days)}."]]
        for one, firm in zip(people, firms, strict=False)
    ]
    pages += [[firm, [f"{firm} is in {city}.", "The office is large."]] for firm, city in zip(firms, cities, strict=True)]
    draw.shuffle(pages)
    return {
        "question": f"Where does {people[0]} work?",
        "answer": cities[0],
        "supporting_facts": [[people[0], 0], [firms[0], 0]],
        "context": pages,
    }


def squad(rows: list[Example], version: str, *, unanswerable: bool) -> str:
    """An article a line."""
    for number, row in enumerate(rows, 1):
        row["qas"][0]["id"] = f"q{number}"
        if not unanswerable:
            del row["qas"][0]["is_impossible"]
    articles = ",\n".join(json.dumps({"title": f"made up, {n}", "paragraphs": [row]}, ensure_ascii=False) for n, row in enumerate(rows, 1))
    return f'{{"version": "{version}", "data": [\n{articles}\n]}}\n'


FILES: dict[str, tuple[Maker, Callable[[list[Example]], str]]] = {
    "reviews.{}.tsv": (review, lambda rows: tsv(rows, "sentence", "label")),
    "topics.zh.{}.jsonl": (topic_zh, jsonl),
    "aspects.zh.{}.tsv": (aspects, lambda rows: tsv(rows, "text", "labels")),
    "similar.{}.tsv": (similar, lambda rows: tsv(rows, "sentence1", "sentence2", "score")),
    "ratings.{}.csv": (rating, comma_separated),
    "nli.{}.jsonl": (inference, jsonl),
    "paraphrase.zh.{}.tsv": (lambda draw: same_question(draw, "天气", "小吃"), tsv),
    "choices.{}.jsonl": (choice, jsonl),
    "ner.{}.conll": (entities, conll),
    "ner.zh.{}.jsonl": (entities_zh, jsonl),
    "pos.{}.conllu": (parts_of_speech, conll_u),
    "segmentation.zh.{}.txt": (segmented, lambda rows: "".join(row + "\n" for row in rows)),
    "qa.{}.json": (answered, lambda rows: squad(rows, "v2.0", unanswerable=True)),
    "qa.zh.{}.json": (answered_zh, lambda rows: squad(rows, "v1.0", unanswerable=False)),
    "hops.{}.jsonl": (hops, jsonl),
    "emoji.{}.tsv": (emoji, lambda rows: tsv(rows, "text", "label")),
    "translation.{}.tsv": (translation, lambda rows: tsv(rows, "en", "zh")),
    "summaries.{}.jsonl": (summary, jsonl),
    "statements.{}.txt": (rewritten, lambda rows: "".join(row[0] + "\n" for row in rows)),
    "dialogue.{}.jsonl": (talked, jsonl),
    "kbqa.{}.tsv": (known, lambda rows: tsv(rows)),
    "questions.{}.txt": (rewritten, lambda rows: "".join(row[1] + "\n" for row in rows)),
}


def places() -> Iterator[tuple[str, list[Example]]]:
    """Who keeps what where: documents, the same with other cities, and questions about them, of which dev's are about documents of its own."""
    draw = random.Random(4)
    pairs = [(who, thing) for who in WORDS.people for thing in WORDS.things]
    draw.shuffle(pairs)
    cities = [draw.choice(WORDS.cities) for _ in pairs]
    days = [draw.choice(WORDS.days) for _ in pairs]
    for name, shift in (("docs", 0), ("other", 3)):
        made = []
        for number, ((who, thing), city, day) in enumerate(zip(pairs, cities, days, strict=True)):
            there = WORDS.cities[(WORDS.cities.index(city) + shift) % len(WORDS.cities)]
            made.append(
                {"id": f"p{number}", "title": f"{who}: {thing}", "text": f"{who} keeps the {thing} in {there} and shows it on {day}."}
            )
        if not shift:
            documents = made
        yield f"places.{name}.jsonl", made
    asked = [
        {"question": f"Where does {who} keep the {thing}?", "answers": [city], "positive": one["text"]}
        for (who, thing), city, one in zip(pairs, cities, documents, strict=True)
    ]
    cut = len(asked) - DEV
    yield "places.train.jsonl", asked[:cut]
    yield "places.dev.jsonl", asked[cut:]


def hop_documents() -> list[Example]:
    """Pages of all people and firms, for questions that bring none."""
    firms, days = WORDS.firms, WORDS.days
    made = [
        {"title": who, "text": f"{who} works for {firms[n % len(firms)]}. {who} goes home on {days[n % len(days)]}."}
        for n, who in enumerate(WORDS.people)
    ]
    return made + [
        {"title": firm, "text": f"{firm} is in {city}. The office is large."} for firm, city in zip(firms, WORDS.cities, strict=False)
    ]


def main() -> None:
    for name, (maker, write) in FILES.items():
        examples = distinct(maker, seed=1)
        for part, count in (("train", TRAIN), ("dev", DEV)):
            (HERE / name.format(part)).write_text(write([next(examples) for _ in range(count)]), encoding="utf-8")
    for name, rows in places():
        (HERE / name).write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows), encoding="utf-8")
    (HERE / "hops.docs.jsonl").write_text(jsonl(hop_documents()), encoding="utf-8")
    topics = distinct(topic, seed=2)
    (HERE / "topics.tsv").write_text(tsv([next(topics) for _ in range(40)], "text", "label"), encoding="utf-8")
    (HERE / "kb.tsv").write_text(tsv(triples()), encoding="utf-8")
    documents = distinct(document, seed=3)
    for file, count in (("corpus.txt", 320), ("text.txt", 15)):
        (HERE / file).write_text("\n\n".join(next(documents) for _ in range(count)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
