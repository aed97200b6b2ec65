"""Chinese made here, from a small grammar of facts and little stories, for where nothing else is installed.

It is rich enough that context tells more than word frequency; a model trained on it knows this small world and nothing else. The studies use
real Chinese (peoples_daily.py, reviews.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

_COUNTRIES = (
    "法国 巴黎 欧洲 奶酪|德国 柏林 欧洲 香肠|英国 伦敦 欧洲 红茶|意大利 罗马 欧洲 面条|西班牙 马德里 欧洲 火腿|俄罗斯 莫斯科 欧洲 黑面包|"
    "希腊 雅典 欧洲 橄榄|波兰 华沙 欧洲 饺子|瑞典 斯德哥尔摩 欧洲 鲱鱼|挪威 奥斯陆 欧洲 三文鱼|荷兰 阿姆斯特丹 欧洲 郁金香|葡萄牙 里斯本 欧洲 蛋挞|"
    "中国 北京 亚洲 茶叶|日本 东京 亚洲 寿司|韩国 首尔 亚洲 泡菜|泰国 曼谷 亚洲 米饭|越南 河内 亚洲 米粉|印度 新德里 亚洲 咖喱|"
    "蒙古 乌兰巴托 亚洲 奶茶|伊朗 德黑兰 亚洲 地毯|埃及 开罗 非洲 棉花|肯尼亚 内罗毕 非洲 咖啡|加纳 阿克拉 非洲 可可|摩洛哥 拉巴特 非洲 薄荷茶|"
    "美国 华盛顿 美洲 玉米|加拿大 渥太华 美洲 枫糖|古巴 哈瓦那 美洲 雪茄|巴西 巴西利亚 美洲 咖啡豆|秘鲁 利马 美洲 土豆|智利 圣地亚哥 美洲 葡萄酒"
)
_PEOPLE = ("小明", "小红", "老王", "李老师", "张医生", "奶奶", "爷爷", "表哥", "姐姐", "邻居")
_SEASONS = {"春天": "花开了", "夏天": "天气很热", "秋天": "树叶黄了", "冬天": "下雪了"}
_ANIMALS = {"猫": "鱼", "狗": "骨头", "兔子": "胡萝卜", "马": "草", "熊猫": "竹子", "猴子": "香蕉", "小鸟": "虫子", "松鼠": "松果"}
_WORK = {"医生": "医院", "老师": "学校", "厨师": "饭店", "农民": "田里", "工人": "工厂", "司机": "路上", "作家": "书房", "渔民": "海边"}


def chinese_documents(*, count: int = 4000, seed: int = 0) -> Iterator[str]:
    """Made-up little texts about countries, seasons, animals and work, three to five sentences each."""
    generator = np.random.default_rng(seed)
    makers = (_about_country, _about_journey, _about_season, _about_animal, _about_work)
    for _ in range(count):
        sentences = makers[int(generator.integers(len(makers)))](generator)
        yield "\n".join(sentences)


def _one(generator: np.random.Generator, options: list[str] | tuple[str, ...]) -> str:
    return options[int(generator.integers(len(options)))]


def _country(generator: np.random.Generator) -> list[str]:
    return _one(generator, tuple(_COUNTRIES.split("|"))).split()


def _about_country(generator: np.random.Generator) -> list[str]:
    country, capital, continent, produce = _country(generator)
    facts = [
        _one(generator, (f"{capital}是{country}的首都。", f"{country}的首都是{capital}。", f"{country}的首都叫{capital}。")),
        _one(generator, (f"{country}在{continent}。", f"{country}是{continent}的一个国家。", f"{capital}是{continent}的一座大城市。")),
        _one(generator, (f"{country}的{produce}很有名。", f"人们都知道{country}的{produce}。", f"到了{capital}，要尝一尝{produce}。")),
        _one(generator, (f"很多人去{capital}旅行。", f"{capital}有很多博物馆。", f"每年有许多客人来到{country}。")),
    ]
    order = generator.permutation(len(facts))
    return [facts[0], *[facts[i] for i in order if i != 0]]


def _about_journey(generator: np.random.Generator) -> list[str]:
    country, capital, continent, produce = _country(generator)
    person, days = _one(generator, _PEOPLE), _one(generator, ("三", "五", "七", "十"))
    return [
        _one(generator, (f"去年{person}去了{country}。", f"{person}昨天从{country}回来了。", f"{person}打算明年去{country}。")),
        f"{person}在{capital}住了{days}天。",
        _one(generator, (f"{person}最喜欢那里的{produce}。", f"{person}带回来很多{produce}。", f"{person}说{produce}很好。")),
        _one(
            generator,
            (f"{capital}是{country}的首都，也是{continent}的名城。", f"从{capital}回家的路很长。", f"{person}还想再去一次{country}。"),
        ),
    ]


def _about_season(generator: np.random.Generator) -> list[str]:
    season = _one(generator, tuple(_SEASONS))
    person = _one(generator, _PEOPLE)
    activity = {"春天": "种树", "夏天": "游泳", "秋天": "摘苹果", "冬天": "滑雪"}[season]
    return [
        f"{season}到了，{_SEASONS[season]}。",
        _one(generator, (f"{person}喜欢在{season}{activity}。", f"{season}的时候，{person}常常去{activity}。")),
        _one(generator, (f"今天{person}又去{activity}了。", f"{person}和朋友一起{activity}。", f"{activity}以后，{person}很高兴。")),
    ]


def _about_animal(generator: np.random.Generator) -> list[str]:
    animal = _one(generator, tuple(_ANIMALS))
    food, person = _ANIMALS[animal], _one(generator, _PEOPLE)
    colour = _one(generator, ("白色", "黑色", "灰色", "黄色"))
    return [
        f"{person}家有一只{colour}的{animal}。",
        _one(generator, (f"{animal}爱吃{food}。", f"这只{animal}每天都要吃{food}。", f"{person}给{animal}买了{food}。")),
        _one(generator, (f"{animal}吃饱了{food}就睡觉。", f"没有{food}，{animal}就不高兴。", f"{person}很喜欢这只{animal}。")),
    ]


def _about_work(generator: np.random.Generator) -> list[str]:
    work = _one(generator, tuple(_WORK))
    place, person = _WORK[work], _one(generator, ("小明的爸爸", "小红的妈妈", "老王的儿子", "我的叔叔", "她的姑姑"))
    return [
        f"{person}是一名{work}。",
        _one(generator, (f"{work}在{place}工作。", f"{person}每天都在{place}。", f"早上八点，{person}来到{place}。")),
        _one(generator, (f"在{place}，{work}们都很忙。", f"{person}喜欢当{work}。", f"晚上，{person}从{place}回家。")),
    ]
