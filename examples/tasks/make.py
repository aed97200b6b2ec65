"""Writes the small files beside this script, which the pages in docs/tasks use: python examples/tasks/make.py

Everything is made up, from the few phrases below and a fixed seed, and so regular that a tiny model learns it in seconds. What a model scores here
says that a task works, and nothing about the model.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TRAIN, DEV = 100, 30  # examples of a file

PEOPLE = "Anna Ben Clara David Emma Frank Grace Henry Iris Jack".split()
CITIES = "Berlin London Paris Oslo Rome Vienna Lisbon Madrid".split()
FIRMS = ("Northern Bank", "Blue Airlines", "City Museum", "Green Press", "Star Radio", "Apex Motors")
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
PEOPLE_ZH = "小明 李娜 王强 张伟 刘洋 陈静 赵敏 周杰".split()
CITIES_ZH = "北京 上海 广州 成都 杭州 南京".split()
FIRMS_ZH = "北京大学 长江银行 东方书店 光明医院 华星公司 蓝天航空".split()
DAYS_ZH = "星期一 星期二 星期三 星期四 星期五".split()

# Who, what they did, and where or when, of each topic. Spaces in the Chinese stand between words; only the file for segmentation keeps them.
TOPICS = {
    "sport": ("the team|our striker|the goalkeeper|the coach", "won the match|scored a goal|lost the final|trained hard", "in the stadium|on Sunday|after the break"),
    "cooking": ("the cook|my aunt|the baker|the chef", "baked the bread|fried the fish|boiled the soup|cut the onions", "in the kitchen|with butter|for dinner"),
    "weather": ("the storm|the rain|the snow|the fog", "covered the hills|reached the coast|stopped the trains|came at night", "from the north|all week|without warning"),
    "music": ("the choir|the pianist|the band|the singer", "played a song|sang a ballad|tuned the piano|gave a concert", "on the stage|for the crowd|in the hall"),
}  # fmt: skip
TOPICS_ZH = {
    "体育": ("球队|前锋|守门员|教练", "赢得 了 比赛|踢 进 了 一 球|输掉 了 决赛|认真 训练", "在 体育场|在 周日|在 下半场"),
    "美食": ("厨师|奶奶|面包师|大厨", "烤 了 面包|煎 了 鱼|煮 了 汤|切 了 洋葱", "在 厨房|用 黄油|为 晚饭"),
    "天气": ("暴风|大雨|大雪|浓雾", "盖住 了 山坡|到达 了 海边|挡住 了 火车|来得 很 快", "从 北方|整 周|在 夜里"),
    "音乐": ("合唱团|钢琴家|乐队|歌手", "演奏 了 歌曲|唱 了 情歌|调 了 钢琴|举办 了 演出", "在 舞台|为 观众|在 大厅"),
}
THINGS = ("soup", "room", "film", "coffee", "book", "service", "music", "hotel")
GOOD, BAD = ("wonderful", "delicious", "friendly", "excellent", "lovely"), ("awful", "boring", "dirty", "terrible", "rude")
STARS = {"terrible": 1, "poor": 2, "decent": 3, "good": 4, "excellent": 5, "糟糕": 1, "较差": 2, "一般": 3, "不错": 4, "极好": 5}
THINGS_ZH = "汤 房间 电影 咖啡 书 服务 音乐 酒店".split()
ASPECTS = {
    "食物": ("菜很好吃", "汤太咸了", "米饭很香", "鱼不新鲜"), "服务": ("服务员很热情", "上菜太慢", "店员很有礼貌", "没人招呼我们"),
    "价格": ("价格太贵", "非常便宜", "收费合理", "优惠很多"), "环境": ("环境很安静", "座位太挤", "灯光很美", "里面很吵"),
}  # fmt: skip
ASKED = {  # questions that mean the same
    "路": ("怎么去{}？", "去{}的路怎么走？", "请问如何到达{}？"), "天气": ("{}今天下雨吗？", "{}的天气怎么样？", "今天{}天气好吗？"),
    "房价": ("{}的房子贵吗？", "在{}买房要多少钱？", "{}的房价是多少？"), "小吃": ("{}有什么好吃的？", "{}的小吃有哪些？", "在{}吃什么好？"),
}  # fmt: skip
NEEDS = {
    "cut the bread": "a knife", "open the door": "a key", "stay dry in the rain": "an umbrella", "write a letter": "a pen",
    "take the train": "a ticket", "read at night": "a lamp", "wash the plates": "some soap", "cross the lake": "a boat",
    "切面包": "刀", "开门": "钥匙", "下雨时出门": "雨伞", "写信": "钢笔", "坐火车": "车票", "夜里看书": "台灯",
}  # fmt: skip
FACES = {
    "😂": ("that joke was so funny", "we laughed all day", "笑死我了", "这个笑话太好笑"), "😢": ("i miss you so much", "i cried all night", "我好难过", "我哭了一晚"),
    "🎂": ("happy birthday to you", "the birthday cake is here", "祝你生日快乐", "生日蛋糕来了"), "⚽": ("what a goal", "we won the match", "这个球太棒了", "我们赢了比赛"),
    "☔": ("it rains again", "i forgot my umbrella", "又下雨了", "我忘了带伞"), "💖": ("i love you", "you are my heart", "我爱你", "你真好"),
}  # fmt: skip
TAILS = ("", " today", " my friend", " !", " , really", " and you know it")
TAILS_ZH = ("", "啊", "今天", "朋友", "！", "，真的")
SUBJECTS = {"the teacher": "老师", "my sister": "姐姐", "the doctor": "医生", "our neighbour": "邻居", "the driver": "司机", "my friend": "朋友"}
VERBS = {"likes": "喜欢", "buys": "买", "sees": "看见", "forgets": "忘记", "brings": "带来"}
OBJECTS = {"apples": "苹果", "books": "书", "flowers": "花", "the letter": "信", "the bicycle": "自行车", "tea": "茶"}

Example = Any
Maker = Callable[[random.Random], Example]


def topic_sentence(draw: random.Random, topic: str) -> str:
    """One of the topic; Chinese with spaces between its words."""
    if topic in TOPICS:
        who, did, where = (draw.choice(part.split("|")) for part in TOPICS[topic])
        return f"{who.capitalize()} {did} {where}."
    who, did, where = (draw.choice(part.split("|")) for part in TOPICS_ZH[topic])
    return f"{who} {where} {did} 。"


def chinese(text: str) -> str:
    return text.replace(" ", "")


def topic(draw: random.Random) -> tuple[str, str]:
    name = draw.choice(list(TOPICS))
    return topic_sentence(draw, name), name


def topic_zh(draw: random.Random) -> dict[str, str]:
    name = draw.choice(list(TOPICS_ZH))
    return {"text": chinese(topic_sentence(draw, name)), "label": name}


def review(draw: random.Random) -> tuple[str, str]:
    label, words = draw.choice([("positive", GOOD), ("negative", BAD)])
    one, other = draw.sample(THINGS, 2)
    return f"The {one} was {draw.choice(words)} and the {other} was {draw.choice(words)}.", label


def rating(draw: random.Random) -> tuple[str, int]:
    word = draw.choice(list(STARS))
    if word.isascii():
        one, other = draw.sample(THINGS, 2)
        return f"The {one} was {word}, and so was the {other}.", STARS[word]
    one, other = draw.sample(THINGS_ZH, 2)
    return f"{one}{word}，{other}也{word}。", STARS[word]


def aspects(draw: random.Random) -> tuple[str, str]:
    names = sorted(draw.sample(list(ASPECTS), draw.choice([0, 1, 1, 2, 2, 3])))
    said = [draw.choice(ASPECTS[name]) for name in names]
    return "，".join(["我们" + draw.choice(DAYS_ZH) + "去了" + draw.choice(CITIES_ZH), *said]) + "。", "|".join(names)


def similar(draw: random.Random) -> tuple[str, str, str]:
    """5: the same in other words; 3: of the same topic; 0: of another."""
    one, other = draw.sample(list(TOPICS), 2)
    first, score = topic_sentence(draw, one), draw.choice([5, 3, 0])
    if score == 5:
        second = f"We heard that {first[0].lower()}{first[1:]}"
    else:
        second = topic_sentence(draw, one if score else other)
    return first, second, f"{score}.0"


def inference(draw: random.Random) -> dict[str, str]:
    name, other = draw.sample(list(TOPICS), 2)
    premise, label = topic_sentence(draw, name), draw.choice(["entailment", "contradiction", "neutral"])
    did = premise.split(" ", 2)[2]
    said = {
        "entailment": (f"Somebody or something {did}", f"This text is about {name}."),
        "contradiction": (f"Nobody and nothing {did}", f"This text is about {other}."),
        "neutral": (f"{draw.choice(PEOPLE)} is happy about it.", f"{draw.choice(PEOPLE)} was there too."),
    }
    return {"premise": premise, "hypothesis": draw.choice(said[label]), "label": label}


def same_question(draw: random.Random) -> tuple[str, str, str]:
    one, other = draw.sample(list(ASKED), 2)
    city, label = draw.choice(CITIES_ZH), draw.choice("01")
    first, second = draw.sample(ASKED[one], 2)
    return first.format(city), (second if label == "1" else draw.choice(ASKED[other])).format(city), label


def choice(draw: random.Random) -> dict[str, Any]:
    need = draw.choice(list(NEEDS))
    english = need.isascii()
    others = [thing for thing in NEEDS.values() if thing.isascii() == english and thing != NEEDS[need]]
    choices = draw.sample([NEEDS[need], *draw.sample(others, 2)], 3)
    person = draw.choice(PEOPLE if english else PEOPLE_ZH)
    context = f"{person} wants to {need}." if english else f"{person}要{need}。"
    question = f"What does {person} need?" if english else f"{person}需要什么？"
    return {"context": context, "question": question, "choices": choices, "answer": choices.index(NEEDS[need])}


def entities(draw: random.Random) -> list[tuple[str, str]]:
    form = draw.choice(("PER works for ORG in LOC .", "PER moved from LOC to LOC on DAY .", "The ORG office in LOC opened on DAY .", "ORG asked PER to come to LOC ."))
    names = {"PER": PEOPLE, "ORG": FIRMS, "LOC": CITIES}
    rows: list[tuple[str, str]] = []
    for word in form.split():
        if word not in names:
            rows.append((draw.choice(DAYS) if word == "DAY" else word, "O"))
            continue
        rows += [(part, f"{'BI'[place > 0]}-{word}") for place, part in enumerate(draw.choice(names[word]).split())]
    return rows


def entities_zh(draw: random.Random) -> dict[str, Any]:
    form = draw.choice(("<name>在<organization>读书。", "<name>从<address>来到<address>。", "<organization>在<address>开会。", "<organization>请<name>去<address>。"))
    names = {"name": PEOPLE_ZH, "organization": FIRMS_ZH, "address": CITIES_ZH}
    text, found = "", {}
    for part in form.replace("<", "|<").replace(">", ">|").split("|"):
        kind = part.strip("<>")
        word = draw.choice(names[kind]) if kind in names else part
        if kind in names:
            found.setdefault(kind, {}).setdefault(word, []).append([len(text), len(text) + len(word) - 1])
        text += word
    return {"text": text, "label": found}


def parts_of_speech(draw: random.Random) -> list[tuple[str, str]]:
    _, did, where = (draw.choice(part.split("|")) for part in TOPICS[draw.choice(list(TOPICS))])
    tags = {"the": "DET", "a": "DET", "with": "ADP", "in": "ADP", "on": "ADP", "after": "ADP", "for": "ADP", "from": "ADP", "without": "ADP", "at": "ADP", "all": "DET", "hard": "ADV"}
    verb, *rest = did.split()
    return [(draw.choice(PEOPLE), "PROPN"), (verb, "VERB"), *((word, tags.get(word, "PROPN" if word in DAYS else "NOUN")) for word in [*rest, *where.split()]), (".", "PUNCT")]


def segmented(draw: random.Random) -> str:
    return topic_sentence(draw, draw.choice(list(TOPICS_ZH)))


def answered(draw: random.Random) -> dict[str, Any]:
    """A paragraph of SQuAD 2.0 with one question, which a fifth of the paragraphs do not answer."""
    person, city, firm, day = (draw.choice(names) for names in (PEOPLE, CITIES, FIRMS, DAYS))
    context = f"{person} works for {firm} in {city} and goes home on {day}. The office is large."
    asked = {f"Who works for {firm}?": person, f"Where does {person} work?": city, f"When does {person} go home?": day, f"Which firm does {person} work for?": firm, f"What does {person} eat?": None}
    return _paragraph(draw, context, asked)


def answered_zh(draw: random.Random) -> dict[str, Any]:
    person, city, firm, day = (draw.choice(names) for names in (PEOPLE_ZH, CITIES_ZH, FIRMS_ZH, DAYS_ZH))
    asked = {f"谁在{firm}工作？": person, f"{person}住在哪个城市？": city, f"{person}哪一天回家？": day, f"{person}在哪里工作？": firm}
    return _paragraph(draw, f"{person}住在{city}市，在{firm}工作，每到{day}就回家。那里很大。", asked)


def _paragraph(draw: random.Random, context: str, asked: dict[str, str | None]) -> dict[str, Any]:
    question, answer = draw.choice(list(asked.items()))
    answers = [] if answer is None else [{"text": answer, "answer_start": context.index(answer)}]
    return {"context": context, "qas": [{"question": question, "is_impossible": answer is None, "answers": answers}]}


def emoji(draw: random.Random) -> tuple[str, str]:
    face = draw.choice(list(FACES))
    text = draw.choice(FACES[face])
    return text + draw.choice(TAILS if text.isascii() else TAILS_ZH), face


def translation(draw: random.Random) -> tuple[str, str]:
    who, does, what = (draw.choice(list(words.items())) for words in (SUBJECTS, VERBS, OBJECTS))
    return f"{who[0]} {does[0]} {what[0]} .".capitalize().replace(" .", "."), f"{who[1]}{does[1]}{what[1]}。"


def summary(draw: random.Random) -> dict[str, str]:
    who, did, where = (draw.choice(part.split("|")) for part in TOPICS[draw.choice(list(TOPICS))])
    document = f"{who.capitalize()} {did} {where}. {draw.choice(PEOPLE)} told us so on {draw.choice(DAYS)}."
    return {"document": document, "summary": f"{who.split()[-1]} {did}".capitalize()}


def rewritten(draw: random.Random) -> tuple[str, str]:
    person, city, firm = (draw.choice(names) for names in (PEOPLE, CITIES, FIRMS))
    return draw.choice([(f"{person} works in {city}.", f"Where does {person} work?"), (f"{person} works for {firm}.", f"Who works for {firm}?")])


def plain(draw: random.Random) -> str:
    """What the corpus has beside the topics: sentences of every file, without what they are labelled with."""
    makers: tuple[Callable[[], str], ...] = (
        lambda: review(draw)[0], lambda: rating(draw)[0], lambda: aspects(draw)[0], lambda: same_question(draw)[0],
        lambda: " ".join(word for word, _ in entities(draw)).replace(" .", "."), lambda: entities_zh(draw)["text"],
        lambda: answered(draw)["context"], lambda: answered_zh(draw)["context"], lambda: emoji(draw)[0],
        lambda: translation(draw)[draw.randrange(2)], lambda: rewritten(draw)[draw.randrange(2)], lambda: needed(draw),
    )  # fmt: skip
    return draw.choice(makers)()


def needed(draw: random.Random) -> str:
    need = draw.choice(list(NEEDS))
    english = need.isascii()
    return f"{draw.choice(PEOPLE)} needs {NEEDS[need]} to {need}." if english else f"{draw.choice(PEOPLE_ZH)}{need}需要{NEEDS[need]}。"


def document(draw: random.Random) -> str:
    """A sentence or two of one topic, which the last line names; some questions that mean the same; or something of everything."""
    sort = draw.random()
    if sort < 0.25:
        return "\n".join(plain(draw) for _ in range(4))
    if sort < 0.32:
        city, questions = draw.choice(CITIES_ZH), ASKED[draw.choice(list(ASKED))]
        return "\n".join(question.format(city) for question in draw.sample(questions, 3))
    name = draw.choice([*TOPICS, *TOPICS_ZH])
    about = f"This {draw.choice(['', 'text '])}is about {name}." if name in TOPICS else f"这是关于{name}的。"
    text = [topic_sentence(draw, name) for _ in range(draw.randint(1, 2))]
    return "\n".join([*(text if name in TOPICS else map(chinese, text)), about])


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
    "paraphrase.zh.{}.tsv": (same_question, tsv),
    "choices.{}.jsonl": (choice, jsonl),
    "ner.{}.conll": (entities, conll),
    "ner.zh.{}.jsonl": (entities_zh, jsonl),
    "pos.{}.conllu": (parts_of_speech, conll_u),
    "segmentation.zh.{}.txt": (segmented, lambda rows: "".join(row + "\n" for row in rows)),
    "qa.{}.json": (answered, lambda rows: squad(rows, "v2.0", unanswerable=True)),
    "qa.zh.{}.json": (answered_zh, lambda rows: squad(rows, "v1.0", unanswerable=False)),
    "emoji.{}.tsv": (emoji, lambda rows: tsv(rows, "text", "label")),
    "translation.{}.tsv": (translation, lambda rows: tsv(rows, "en", "zh")),
    "summaries.{}.jsonl": (summary, jsonl),
    "statements.{}.txt": (rewritten, lambda rows: "".join(row[0] + "\n" for row in rows)),
    "questions.{}.txt": (rewritten, lambda rows: "".join(row[1] + "\n" for row in rows)),
}


def main() -> None:
    for name, (maker, write) in FILES.items():
        examples = distinct(maker, seed=1)
        for part, count in (("train", TRAIN), ("dev", DEV)):
            (HERE / name.format(part)).write_text(write([next(examples) for _ in range(count)]), encoding="utf-8")
    topics = distinct(topic, seed=2)
    (HERE / "topics.tsv").write_text(tsv([next(topics) for _ in range(40)], "text", "label"), encoding="utf-8")
    documents = distinct(document, seed=3)
    for file, count in (("corpus.txt", 320), ("text.txt", 15)):
        (HERE / file).write_text("\n\n".join(next(documents) for _ in range(count)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
