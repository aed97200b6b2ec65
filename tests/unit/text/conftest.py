import pytest

ENGLISH = [
    "The quick brown fox jumps over the lazy dog, and the dog barks at the fox.",
    "Unbelievable lowest prices: the lower shop lowered its low price to 3.50 dollars!",
    "She doesn't believe that the café sells naïve résumés; nobody believes it.",
    "Believing is easy, the believer believed, but the unbeliever does not believe.",
]
CHINESE = [
    "我来到北京清华大学，学习计算机科学。",
    "他们在北京大学研究语言模型，模型学习语言。",
    "今天天气很好，我们去公园散步。大学生在公园学习。",
    "清华大学和北京大学都在北京。语言模型研究语言。",
]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return (ENGLISH + CHINESE) * 5
