"""What came out, in sentences: English, Chinese."""

WORDS: dict[str, tuple[str, str]] = {
    # the recommendation
    "no_recommendation": (
        "There is no recommendation yet: nothing has been scored. The section on cells without a result says why.",
        "暂时没有推荐：还没有任何得分，原因见“没有结果的格子”一节。",
    ),
    "ship_alone": (
        "Ship {model}: its quality over {tasks} is {quality}, ahead of all others beyond the noise, at "
        "{rate} predictions a second and {disk} on disk.",
        "推荐使用 {model}：它在 {tasks}上的质量为 {quality}，明确高于其他所有模型，每秒可预测 {rate} 条，占磁盘 {disk}。",
    ),
    "ship_proven": (
        "Ship {model}: its quality over {tasks} is the highest, {quality}, at {rate} predictions a second and {disk} on disk.",
        "推荐使用 {model}：它在 {tasks}上的质量最高，为 {quality}，每秒可预测 {rate} 条，占磁盘 {disk}。",
    ),
    "ship_only": (
        "{model} is the only model with a score on {tasks}: {quality}, at {rate} predictions a second and {disk} on disk.",
        "只有 {model} 在 {tasks}上有得分：质量为 {quality}，每秒可预测 {rate} 条，占磁盘 {disk}。",
    ),
    "ship_untimed": (
        "{model} has the highest quality over {tasks} so far, {quality}; how fast the models predict has not been measured for all yet, "
        "and decides nothing here.",
        "目前 {model} 在 {tasks}上的质量最高，为 {quality}；尚未测完各模型的预测速度，速度在此没有参与选择。",
    ),
    "on_some_tasks": ("{value} on {own} of {all} tasks", "{value}，仅 {all} 个任务中的 {own} 个"),
    "same_score": ("{first} and {second} have the same mean score.", "{first} 与 {second} 的平均分相同。"),
    "ship_alike": (
        "Ship {model}: its quality over {tasks} is the highest, {quality}, and of those that cannot be told apart from it "
        "({others}) none is clearly faster: {rate} predictions a second, {disk} on disk.",
        "推荐使用 {model}：它在 {tasks}上的质量最高，为 {quality}；{others} 与它无法区分，"
        "而其中没有明显更快的（它每秒可预测 {rate} 条，占磁盘 {disk}）。",
    ),
    "ship_cheaper": (
        "Ship {model}: its quality over {tasks}, {quality}, cannot be told apart from the highest ({best}, {best_quality}), "
        "which is not clearly faster: {rate} predictions a second against {best_rate}, {disk} on disk.",
        "推荐使用 {model}：它在 {tasks}上的质量为 {quality}，与最高的 {best}（{best_quality}）无法区分，"
        "而后者没有明显更快（每秒可预测 {rate} 条，后者 {best_rate} 条；占磁盘 {disk}）。",
    ),
    "ship_cheaper_of_many": (
        "Ship {model}: its quality over {tasks}, {quality}, cannot be told apart from the highest ({best}, {best_quality}), "
        "and of all such models ({others} too) none is clearly faster: "
        "{rate} predictions a second, {best} has {best_rate}; {disk} on disk.",
        "推荐使用 {model}：它在 {tasks}上的质量为 {quality}，与最高的 "
        "{best}（{best_quality}）无法区分；在所有这样的模型（还有 {others}）中，"
        "没有明显比它更快的（每秒可预测 {rate} 条，{best} 为 {best_rate} 条；占磁盘 {disk}）。",
    ),
    "others_count": ("{number} others", "另外 {number} 个"),
    "with_interval": ("{value} (95% interval {low} to {high})", "{value}（95% 区间 {low} 至 {high}）"),
    "interval_only": ("95% interval {low} to {high}", "95% 区间 {low} 至 {high}"),
    "paid_yes_yes": (
        "Pre-training paid: a network without it reaches {scratch} and static vectors {static}, both worse beyond the noise.",
        "预训练是值得的：不预训练的网络只有 {scratch}，静态词向量只有 {static}，差距都超出噪声。",
    ),
    "paid_yes_no": (
        "Pre-training paid against starting from nothing ({scratch}), but the lead over static vectors ({static}) is not beyond the noise.",
        "与从零开始（{scratch}）相比，预训练是值得的；但与静态词向量（{static}）相比，优势没有超出噪声。",
    ),
    "paid_no_yes": (
        "It is better than static vectors ({static}) beyond the noise, but not than a network without pre-training ({scratch}): "
        "at this budget pre-training has not paid.",
        "它明确好于静态词向量（{static}），但没有明确好于不预训练的网络（{scratch}）：在这个预算下，预训练还没有见效。",
    ),
    "paid_no_no": (
        "Pre-training has not paid here: neither a network without it ({scratch}) nor static "
        "vectors ({static}) are worse beyond the noise.",
        "预训练在这里没有见效：它对不预训练的网络（{scratch}）和静态词向量（{static}）的优势都没有超出噪声。",
    ),
    "paid_yes_none": (
        "Pre-training paid: a network without it reaches {scratch}, worse beyond the noise; static vectors have no score to compare with.",
        "预训练是值得的：不预训练的网络只有 {scratch}，差距超出噪声；静态词向量没有可比的得分。",
    ),
    "paid_no_none": (
        "Pre-training has not paid here: a network without it ({scratch}) is not worse beyond the "
        "noise; static vectors have no score to compare with.",
        "预训练在这里没有见效：它对不预训练的网络（{scratch}）的优势没有超出噪声；静态词向量没有可比的得分。",
    ),
    "paid_none_yes": (
        "It is better than static vectors ({static}) beyond the noise; whether pre-training paid cannot be "
        "said, for the control without it has no score.",
        "它明确好于静态词向量（{static}）；不预训练的对照没有得分，因此无法判断预训练是否值得。",
    ),
    "paid_none_no": (
        "It is not better than static vectors ({static}) beyond the noise; whether pre-training paid cannot be "
        "said, for the control without it has no score.",
        "它对静态词向量（{static}）的优势没有超出噪声；不预训练的对照没有得分，因此无法判断预训练是否值得。",
    ),
    "paid_none_none": (
        "Whether pre-training paid cannot be said: no control has a score to compare with.",
        "两个对照都没有可比的得分，因此无法判断预训练是否值得。",
    ),
    "control_won": (
        "It is a control ({control}): no other model is better beyond the noise, so at this budget pre-training a network has not paid.",
        "它本身是对照（{control}）：没有别的模型明确好于它，因此在这个预算下，预训练一个网络还没有见效。",
    ),
    "over_scratch": ("Over no pre-training", "比不预训练"),
    "over_static": ("Over static vectors", "比静态词向量"),
    "from_to": ("from {low} to {high}", "从 {low} 到 {high}"),
    "latency": ("one alone: {p50} ms, p99 {p99} ms", "单条 {p50} 毫秒，p99 {p99} 毫秒"),
    "pretraining_and_tuning": ("pre-training and tuning, one seed", "预训练加微调，单个种子"),
    "quality_means": (
        "Quality is the mean over {tasks} of the score as a share of the best there is, out of 100. Beyond the "
        "noise: told apart at 5%, by a bootstrap over scored "
        "examples together with the noise between seeds.",
        "质量是 {tasks}的得分占满分之比的平均值，满分 100。“超出噪声”“明确”指由评分样本上的自助法与种子间的波动判断，在 5% 水平上可以区分。",
    ),
    "unproven_caution": (
        "These cannot be told apart from {best} either, but are not shown to be better than a control that it is better than, "
        "so that how fast they are does not count: {models}.",
        "下列模型与 {best} 也无法区分，但没有像它那样明确好于某个对照，因此不因速度入选：{models}。",
    ),
    "one_seed_caution": (
        "With one seed, how much a result changes from run to run was not measured: the intervals miss that "
        "noise, and the order may change with another seed.",
        "只用了一个种子，没有测量各次运行之间的波动：换一个种子，名次可能改变。",
    ),
    "stuck_caution": (
        "At the end of their budget these had learned how frequent tokens are, and next to nothing of their context: {models}. "
        "Their scores say what the budget was enough for, not what the families can do with a larger one.",
        "预算用完时，下列模型只学到了词的频率，几乎没有学到上下文：{models}。它们的得分只说明这点预算够做什么，并不说明预算更大时这些家族的水平。",
    ),
    "slowed_caution": (
        "These runs saw clearly fewer tokens in their time than the same model with another seed, so something else was using the machine: {runs}. "
        "Their scores may be too low; --again makes them anew, with all that stands on them.",
        "下列运行在同样时间里看到的词元明显少于同一模型的其他种子，机器当时还在做别的事：{runs}。得分可能偏低；用 --again 可以连同后续步骤重做。",
    ),
    "incomplete_caution": (
        "Not in the running, for want of a score on every task: {models}.",
        "因缺少某些任务的得分而没有参评：{models}。",
    ),
    "all_incomplete_caution": (
        "No model has a score on every task: the recommendation rests on those that have the most.",
        "没有一个模型在所有任务上都有得分：推荐只在得分最多的模型中产生。",
    ),
    "waiting_caution": (
        "The study is not finished: {number} of {all} cells have not been run, and the recommendation may change.",
        "研究尚未完成：{all} 个格子中有 {number} 个未运行，推荐可能改变。",
    ),
    "waiting_caution_one": (
        "The study is not finished: one of {all} cells has not been run, and the recommendation may change.",
        "研究尚未完成：{all} 个格子中有 1 个未运行，推荐可能改变。",
    ),
    # a task
    "best_alone": ("{best} is better than all others beyond the noise.", "{best} 明确好于其他所有模型。"),
    "best_none_worse": (
        "{best} has the highest mean, but no model can be told apart from it.",
        "{best} 的平均分最高，但其他模型都与它无法区分。",
    ),
    "best_of_group": (
        "{best} has the highest mean; {alike} cannot be told apart from it; worse beyond the noise: {rest}.",
        "{best} 的平均分最高；{alike} 与它无法区分；明确更差的有：{rest}。",
    ),
    "is_better": (
        "{better} is better than {worse} by {by} points (95% interval {low} to {high}).",
        "{better} 比 {worse} 高 {by} 分（95% 区间 {low} 至 {high}）。",
    ),
    "same_more_seeds": (
        "{first} and {second} cannot be told apart with {number} seeds; about {more} more would be needed.",
        "用 {number} 个种子无法区分 {first} 和 {second}；大约还需要 {more} 个。",
    ),
    "same_more_seeds_one": (
        "{first} and {second} cannot be told apart with one seed; about {more} more would be needed.",
        "用 1 个种子无法区分 {first} 和 {second}；大约还需要 {more} 个。",
    ),
    "same_too_many": (
        "{first} and {second} cannot be told apart with {number} seeds; more than {more} more would be needed.",
        "用 {number} 个种子无法区分 {first} 和 {second}；还需要 {more} 个以上。",
    ),
    "same_too_many_one": (
        "{first} and {second} cannot be told apart with one seed; more than {more} more would be needed.",
        "用 1 个种子无法区分 {first} 和 {second}；还需要 {more} 个以上。",
    ),
    "same_more_rows": (
        "{first} and {second} cannot be told apart with {seeds} seeds; more scored examples would be needed, not more seeds.",
        "用 {seeds} 个种子无法区分 {first} 和 {second}；需要的是更多评分样本，而不是更多种子。",
    ),
    "same_one_seed": ("{first} and {second} cannot be told apart with one seed.", "用 1 个种子无法区分 {first} 和 {second}。"),
    "same_seeds_many": (
        "With {seeds} seeds {best} cannot be told apart from these; about so many more would be needed: {models}.",
        "用 {seeds} 个种子，{best} 与下列模型无法区分，括号内是大约还需要的种子数：{models}。",
    ),
    "same_rows_many": (
        "{best} cannot be told apart from {models} by more seeds: more scored examples would be needed.",
        "要区分 {best} 与 {models}，增加种子无济于事，需要更多评分样本。",
    ),
    "seeds_item": ("{model} ({more})", "{model}（{more}）"),
    "against_control": ("Compared with {control}, {verdicts}", "与 {control}相比，{verdicts}"),
    "all_recipes": ("all recipes", "所有配方"),
    "control_behind": ("better: {models}", "更好的：{models}"),
    "control_same": ("not told apart: {models}", "无法区分的：{models}"),
    "control_ahead": ("worse: {models}", "更差的：{models}"),
    "absent": ("Without a score here: {models} ({states}).", "在此没有得分：{models}（{states}）。"),
    # cost
    "front": (
        "On the front, where none is both better and faster: {models}.",
        "处于前沿（没有别的模型既更好又更快）的有：{models}。",
    ),
    "front_one": ("No other model is better or faster than {models}.", "没有别的模型比它更好或更快：{models}。"),
    "front_item": ("{model} ({quality}, {rate} a second)", "{model}（{quality}，每秒 {rate} 条）"),
    # probes
    "probe_sentence": (
        "Highest is {model} at {layer} with {score}; always naming the most frequent answer gives {majority}.",
        "最高的是 {model} 的{layer}，为 {score}；总答最常见的标签可得 {majority}。",
    ),
}
