// Texts to begin with. Both languages are always offered, the page's own first: a model reads what it was trained on, not what the page is in.
import { language } from "./words.js";

const EN = {
  ner: [["Ada Lovelace", { text: "Ada Lovelace met Charles Babbage in London in 1833, and later wrote about his Analytical Engine for Richard Taylor's Scientific Memoirs." }],
    ["A match", { text: "Germany beat Brazil 7-1 in Belo Horizonte; Toni Kroos of Bayern Munich scored twice within two minutes." }]],
  classification: [["A film", { text: "A warm, funny and beautifully acted film that stays with you long after it ends." }],
    ["A dull one", { text: "The plot drags, the jokes fall flat, and nobody seems to know why they are there." }],
    ["News", { text: "Shares rose sharply on Thursday after the chip maker raised its forecast for the year." }]],
  qa: [["The tower", { question: "When was the tower finished?", context: "The Eiffel Tower was designed by the engineers Maurice Koechlin and Émile Nouguier. Construction began in January 1887 and the tower was finished in March 1889, in time for the World's Fair." }],
    ["The river", { question: "Where does the Danube rise?", context: "The Danube rises in the Black Forest of Germany, flows southeast for 2,850 kilometres, and empties into the Black Sea." }]],
  pair: [["Nearly the same", { text: "A man is playing a guitar on the street.", second: "Somebody plays guitar outside." }],
    ["Unlike", { text: "A man is playing a guitar on the street.", second: "The parliament passed the new law on Tuesday." }]],
  choices: [["What next?", { context: "The pot began to boil over.", choices: "She turned down the heat.\nShe bought a ticket.\nShe closed the window." }]],
  reword: [["Weather", { text: "How is the weather today?" }]],
  fill: [["Paris", { text: "Paris is the ___ of France." }], ["Two blanks", { text: "The ___ barked at the ___ all night." }]],
  write: [["Once upon", { text: "Once upon a time there was a" }], ["In the year", { text: "The city was founded in" }]],
  turns: [["Hello", { text: "Hello! Who are you?" }]],
  zero: [["A goal", { text: "The striker scored twice in the last ten minutes of the match.", labels: "sports, politics, music, science" }]],
  score: [["Word order", { text: "The cat sat on the mat.\nThe mat sat on the cat.\nSat the the cat mat on." }]],
  summarisation: [["A storm", { text: "A storm that moved across the north of the country on Sunday left thousands of homes without electricity. Fallen trees closed several roads, and trains were cancelled until Monday morning. Nobody was hurt." }]],
  text: [["A sentence", { text: "The old captain finds a wooden box on the beach." }]],
  map: [["Four subjects", { lines: "The cat sleeps on the sofa.\nA dog chases its tail.\nKittens love warm milk.\nShares fell on Monday.\nThe bank raised interest rates.\nInvestors sold their bonds.\nShe scored the winning goal.\nThe team lost the final.\nA striker left the club.\nBoil the pasta for nine minutes.\nAdd salt to the soup.\nBake the bread until golden." }]],
  search: [["Oil", { query: "why are oil prices rising", where: "" }], ["Space", { query: "spacecraft sends pictures back", where: "" }]],
  view: [["The cat", { text: "The cat sat on the mat because it was tired.", pair: "" }]],
};
const ZH = {
  ner: [["钱学森", { text: "1955年，钱学森从美国洛杉矶回到北京，后来主持中国科学院力学研究所的工作。" }]],
  classification: [["好评", { text: "房间干净，服务热情，早餐也很丰富，下次还会再来。" }], ["差评", { text: "隔音太差，一晚上没睡好，前台态度也很冷淡。" }]],
  qa: [["长江", { question: "长江发源于哪里？", context: "长江发源于青藏高原的唐古拉山脉，全长约6300公里，流经十一个省区，最后在上海注入东海。" }]],
  pair: [["同义", { text: "怎么修改登录密码？", second: "登录密码如何更改？" }]],
  choices: [["然后呢？", { context: "锅里的水开了。", choices: "她把火调小。\n她买了一张票。\n她关上窗户。" }]],
  reword: [["密码", { text: "怎么修改登录密码？" }]],
  fill: [["北京", { text: "北京是中国的___都。" }], ["天气", { text: "今天天气很___，我们去公园吧。" }]],
  write: [["从前", { text: "从前有一座山，" }]],
  turns: [["你好", { text: "你好，你是谁？" }]],
  zero: [["进球", { text: "前锋在比赛最后十分钟打进两球。", labels: "体育, 政治, 音乐, 科学" }]],
  score: [["语序", { text: "猫坐在垫子上。\n垫子坐在猫上。\n上坐猫垫子在。" }]],
  summarisation: [["暴雨", { text: "周日席卷北部的暴风雨造成数千户停电，倒下的树木阻断了多条道路，列车停运至周一早晨，没有人员伤亡。" }]],
  text: [["一句话", { text: "老船长在沙滩上发现了一只木箱。" }]],
  map: [["四个话题", { lines: "猫在沙发上睡觉。\n小狗追着自己的尾巴跑。\n小猫爱喝牛奶。\n周一股市下跌。\n央行上调了利率。\n投资者抛售债券。\n她打进了制胜一球。\n球队输掉了决赛。\n前锋离开了俱乐部。\n面条煮九分钟。\n汤里加一点盐。\n面包烤到金黄。" }]],
  search: [["油价", { query: "油价为什么上涨", where: "" }]],
  view: [["猫", { text: "猫累了，所以坐在垫子上。", pair: "" }]],
};

/** Of a kind of task; else of what it reads. */
export function examplesOf(kind, reads) {
  const alike = { nli: "pair", paraphrase: "pair", similarity: "pair", dialogue: "turns", segmentation: "text", pos: "text", translation: "text", emoji: "classification", "multi-label": "classification", regression: "classification" };
  const of = set => set[kind] && (reads !== "pair" || kind === "pair") ? set[kind] : set[reads === "pair" ? "pair" : alike[kind]] ?? set[reads] ?? [];
  const both = language() === "zh" ? [...of(ZH), ...of(EN)] : [...of(EN), ...of(ZH)];
  return both.map(([name, fields]) => ({ name, fields }));
}
