"""Texts of a few kinds and lengths, English and Chinese: what exported models are calibrated and checked on where the user gives none."""

from __future__ import annotations

TEXTS = (
    "Yes.",
    "The library opens at nine and closes at half past five.",
    "Shares of the company fell 3.2% on Monday after it cut its forecast for the third quarter, citing weaker demand in Europe and Asia.",
    "I can't recommend this film: the plot is thin, the jokes are old, and at two hours and ten minutes it is far too long.",
    "Where was the treaty signed?",
    "Marie Curie was born in Warsaw in 1867; she moved to Paris, where she shared the Nobel Prize in Physics with her husband Pierre and Henri "
    "Becquerel in 1903.",
    "To install it, run `pip install package==2.1` and restart the server (port 8080).",
    "What a lovely surprise!",
    "A dog runs through the snow.",
    "Water boils at 100 degrees at sea level, but on a high mountain it boils sooner, because the air presses on it less, so that eggs have to be "
    "cooked for longer there. Climbers know this well. Some carry a pressure cooker.",
    "the quick brown fox jumps over the lazy dog",
    "She said that she would call back tomorrow, or at the latest on Friday.",
    "好。",
    "今天天气很好，我们一起去公园散步。",
    "北京是中华人民共和国的首都，人口超过两千万，有许多大学和研究所。",
    "这家餐厅的服务态度太差了，等了一个小时菜还没有上来，再也不会来了。",
    "请问去火车站怎么走？",
    "李明于1995年毕业于清华大学，后来在上海的一家软件公司工作，现任首席工程师。他喜欢读书、爬山，也喜欢在周末给家人做饭。",
    "他在会议上用 Python 演示了新的 search 功能。",
    "春天来了，花都开了。",
    "Ω = 2πf, naïve café, Москва, 東京, 😀",
    "12:30",
    "Both teams played well in the first half. After the break, however, the visitors scored three goals within ten minutes and won 4-1.",
    "物价上涨了百分之三点五。",
)
