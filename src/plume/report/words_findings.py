"""What came out, in sentences: English, Chinese."""

WORDS: dict[str, tuple[str, str]] = {
    # the recommendation
    "no_recommendation": (
        "There is no recommendation yet: no model has a score. See the section on runs without a result.",
        "暂无推荐：还没有任何模型得分，原因见“没有结果的运行”一节。",
    ),
    "ship_alone": (
        "Ship {model}: its quality over {tasks} is {quality}, significantly higher than every other model, at "
        "{rate} predictions per second and {disk} on disk.",
        "推荐使用 {model}：它在 {tasks}上的质量为 {quality}，显著高于其他所有模型，每秒预测 {rate} 条，占磁盘 {disk}。",
    ),
    "ship_proven": (
        "Ship {model}: its quality over {tasks} is the highest, {quality}, at {rate} predictions per second and {disk} on disk.",
        "推荐使用 {model}：它在 {tasks}上的质量最高，为 {quality}，每秒预测 {rate} 条，占磁盘 {disk}。",
    ),
    "ship_only": (
        "{model} is the only model with a score on {tasks}: {quality}, at {rate} predictions per second and {disk} on disk.",
        "只有 {model} 在 {tasks}上有得分：质量为 {quality}，每秒预测 {rate} 条，占磁盘 {disk}。",
    ),
    "ship_untimed": (
        "{model} has the highest quality over {tasks} so far, {quality}. Prediction speed has not been measured for all models yet "
        "and is not taken into account.",
        "目前 {model} 在 {tasks}上的质量最高，为 {quality}。尚未测完所有模型的预测速度，因此没有考虑速度。",
    ),
    "on_some_tasks": ("{value} on {own} of {all} tasks", "{value}，仅 {all} 个任务中的 {own} 个"),
    "same_score": ("{first} and {second} have the same mean score.", "{first} 与 {second} 的平均分相同。"),
    "ship_alike": (
        "Ship {model}: its quality over {tasks} is the highest, {quality}, at {rate} predictions per second and {disk} on disk; not significantly "
        "worse, but not clearly faster or smaller either: {others}.",
        "推荐使用 {model}：它在 {tasks}上的质量最高，为 {quality}，每秒预测 {rate} 条，占磁盘 {disk}；"
        "{others} 与它没有显著差异，但也没有明显更快或更小。",
    ),
    "ship_cheaper": (
        "Ship {model}: its quality over {tasks}, {quality}, is at most {margin} below the highest ({best}, {best_quality}) with a "
        "probability of {within}, and it costs less: {rate} predictions per second against {best_rate}, {disk} on disk against {best_disk}.",
        "推荐使用 {model}：它在 {tasks}上的质量为 {quality}，比最高的 {best}（{best_quality}）低不超过{margin}的概率为 {within}，"
        "而且更省：每秒预测 {rate} 条（后者 {best_rate} 条），占磁盘 {disk}（后者 {best_disk}）。",
    ),
    "ship_meanwhile": (
        "Until then {model} is the best guess: its quality over {tasks} is {quality}, at {rate} predictions per second and {disk} on disk.",
        "在此之前，{model} 是最稳妥的选择：它在 {tasks}上的质量为 {quality}，每秒预测 {rate} 条，占磁盘 {disk}。",
    ),
    "undecided": (
        "The data cannot decide yet: with a probability of {risk} another model is better than {model} by more than {margin}. "
        "Candidates, with their probability of being the best: {contenders}.",
        "数据尚不足以决定：有 {risk} 的概率，另有模型比 {model} 高出{margin}以上。候选模型及其为最优的概率：{contenders}。",
    ),
    "contender": ("{model} ({chance})", "{model}（{chance}）"),
    "settled_by_either": (
        "About {seeds} more seeds of each would settle it, or {times} times as many test examples.",
        "每个模型大约再加 {seeds} 个种子，或者测试样本增至 {times} 倍，即可决定。",
    ),
    "settled_by_seeds": (
        "About {seeds} more seeds of each would settle it; more test examples alone would not.",
        "每个模型大约再加 {seeds} 个种子即可决定；只增加测试样本则不够。",
    ),
    "settled_by_rows": (
        "About {times} times as many test examples would settle it; more seeds alone would not.",
        "测试样本大约增至 {times} 倍即可决定；只增加种子则不够。",
    ),
    "settled_by_both": (
        "To settle it takes both more seeds and more test examples.",
        "要做出决定，种子和测试样本都需要增加。",
    ),
    "catch_up": (
        "Extrapolated from its loss curve, {model} would draw level with {target} after about {about} of pre-training instead of {now} "
        "(80% interval {low} to {high}), if loss and quality continue as they did.",
        "由损失曲线外推：若损失与质量照此变化，{model} 预训练约 {about}（现为 {now}；80% 区间 {low} 至 {high}）后可追平 {target}。",
    ),
    "catch_up_open": (
        "Extrapolated from its loss curve, {model} would draw level with {target} after about {about} of pre-training instead of {now}, "
        "if loss and quality continue as they did; anything from {low} upwards is possible.",
        "由损失曲线外推：若损失与质量照此变化，{model} 预训练约 {about}（现为 {now}）后可追平 {target}；最少 {low}，上限无法估计。",
    ),
    "all_equal": (
        "This study tells nothing apart: all models ({models}) have the same quality over {tasks}, {quality}, so none is recommended. "
        "A larger budget, more training examples or other tasks may tell more.",
        "这次研究无法区分任何模型：所有模型（{models}）在 {tasks}上的质量相同，均为 {quality}，因此不作推荐。"
        "增加预算或训练样本，或者换用其他任务，也许能看出差别。",
    ),
    "one_point": ("one point", " 1 分"),
    "margin_points": ("{number} points", " {number} 分"),
    "risk_note": (
        "Another model is better than {model} by more than {margin} with a probability of {risk}.",
        "另有模型比 {model} 高出{margin}以上的概率为 {risk}。",
    ),
    "chances_caption": (
        "Probability of being the best model, from the paired bootstrap and the variance between seeds. A faster or smaller model is "
        "recommended instead of the best only if it loses more than {margin} with a probability under 10%.",
        "成为最优模型的概率，由配对自助法和种子间方差得出。更快或更小的模型，只有在低于最优者{margin}以上的概率不到 10% 时，才会取而代之。",
    ),
    "others_count": ("{number} others", "另外 {number} 个"),
    "with_interval": ("{value} (95% CI {low} to {high})", "{value}（95% 置信区间 {low} 至 {high}）"),
    "interval_only": ("95% CI {low} to {high}", "95% 置信区间 {low} 至 {high}"),
    "paid_yes_yes": (
        "Pre-training paid off: the network without it reaches {scratch} and static vectors {static}, both significantly worse.",
        "预训练有效：不预训练的网络为 {scratch}，静态词向量为 {static}，均显著更低。",
    ),
    "paid_yes_no": (
        "Pre-training paid off compared with training from scratch ({scratch}), but the lead over static vectors ({static}) is not "
        "significant.",
        "与从零训练（{scratch}）相比，预训练有效；但对静态词向量（{static}）的优势不显著。",
    ),
    "paid_no_yes": (
        "It is significantly better than static vectors ({static}), but not than the network without pre-training ({scratch}): "
        "at this budget pre-training has not paid off.",
        "它显著优于静态词向量（{static}），但对不预训练的网络（{scratch}）的优势不显著：在这个预算下，预训练尚未见效。",
    ),
    "paid_no_no": (
        "Pre-training has not paid off here: neither the network without it ({scratch}) nor static "
        "vectors ({static}) are significantly worse.",
        "预训练在这里没有见效：对不预训练的网络（{scratch}）和静态词向量（{static}）的优势都不显著。",
    ),
    "paid_yes_none": (
        "Pre-training paid off: the network without it reaches {scratch}, significantly worse; there is no score of static vectors to "
        "compare with.",
        "预训练有效：不预训练的网络为 {scratch}，显著更低；静态词向量没有可比的得分。",
    ),
    "paid_no_none": (
        "Pre-training has not paid off here: the network without it ({scratch}) is not significantly worse; "
        "there is no score of static vectors to compare with.",
        "预训练在这里没有见效：对不预训练的网络（{scratch}）的优势不显著；静态词向量没有可比的得分。",
    ),
    "paid_none_yes": (
        "It is significantly better than static vectors ({static}). Whether pre-training helped cannot be "
        "said: the baseline without it has no score.",
        "它显著优于静态词向量（{static}）。不预训练的基线没有得分，因此无法判断预训练是否有效。",
    ),
    "paid_none_no": (
        "It is not significantly better than static vectors ({static}). Whether pre-training helped cannot be "
        "said: the baseline without it has no score.",
        "它对静态词向量（{static}）的优势不显著。不预训练的基线没有得分，因此无法判断预训练是否有效。",
    ),
    "paid_none_none": (
        "Whether pre-training helped cannot be said: no baseline has a score to compare with.",
        "两个基线都没有可比的得分，因此无法判断预训练是否有效。",
    ),
    "control_won": (
        "It is a baseline ({control}): at this budget, pre-training a network has not paid off.",
        "它本身是基线（{control}）：在这个预算下，预训练网络尚未见效。",
    ),
    "there_won": (
        "It existed before and was only fine-tuned: at this budget, pre-training on this corpus has not produced a better model.",
        "它是已有的模型，只做了微调：在这个预算下，用这份语料预训练没有得到更好的模型。",
    ),
    "over_scratch": ("Gain over no pre-training", "相对不预训练的提升"),
    "over_static": ("Gain over static vectors", "相对静态词向量的提升"),
    "from_to": ("from {low} to {high}", "从 {low} 到 {high}"),
    "latency": ("single example: p50 {p50} ms, p99 {p99} ms", "单条：p50 {p50} 毫秒，p99 {p99} 毫秒"),
    "tuning_only": ("fine-tuning alone, one seed", "仅微调，单个种子"),
    "with_its_parent": ("with that of the model it was made from, one seed", "含其来源模型的时间，单个种子"),
    "pretraining_and_tuning": ("pre-training and fine-tuning, one seed", "预训练加微调，单个种子"),
    "quality_means": (
        "Quality is the mean score over {tasks}, each as a percentage of the metric's maximum. “Significant” means "
        "significant at 5% (paired bootstrap plus seed variance).",
        "质量是 {tasks}得分的平均值，各得分以占该指标满分的百分比计。“显著”指在 5% 水平上显著（配对自助法，并计入种子间方差）。",
    ),
    "unproven_caution": (
        "The following models are faster or smaller, and not significantly below {best}, but may lose more than {margin} (or are "
        "no better than a baseline that costs no more), so their speed is not considered: {models}.",
        "下列模型更快或更小，与 {best} 也没有显著差异，但可能低{margin}以上（或不优于成本不更高的基线），因此不考虑其速度：{models}。",
    ),
    "one_seed_caution": (
        "With one seed, the variance between runs was not measured: confidence intervals do not include it, "
        "and another seed may change the order. The probabilities assume a standard deviation of 1.5 points.",
        "只用了一个种子，没有测量各次运行之间的方差：置信区间不包含这部分，换一个种子名次可能改变。各概率假定其标准差为 1.5 分。",
    ),
    "stuck_caution": (
        "By the end of the budget, these models had learned token frequencies but almost nothing from context: {models}. "
        "Their scores reflect this budget, not what the families can reach with a larger one.",
        "预算用完时，下列模型只学到了词频，几乎没有利用上下文：{models}。得分只反映这个预算，不代表预算更大时这些家族的水平。",
    ),
    "behind_caution": (
        "By the end of the budget, these models had not even learned token frequencies (their held-out loss is above that of knowing only "
        "these): {models}. Their scores reflect this budget, not what the families can reach with a larger one.",
        "预算用完时，下列模型连词频都还没有学会（留出集损失高于只知道词频时的损失）：{models}。得分只反映这个预算，不代表预算更大时这些家族的水平。",
    ),
    "time_caution": (
        "The budget was a time ({budget}): the same study on a slower or busier machine gives other figures. A budget in tokens gives the same "
        "result anywhere; the middle model saw {tokens} tokens here (--budget {option}).",
        "预算以时间计（{budget}）：在更慢或更忙的机器上，同样的研究会得到不同的数字。预算以词元计，则在任何机器上结果相同；"
        "这里居中的模型读了 {tokens} 个词元（--budget {option}）。",
    ),
    "slowed_caution": (
        "These runs processed clearly fewer tokens than the same model with another seed, probably because other programs were using the "
        "machine: {runs}. Their scores may be too low; --again reruns them and everything derived from them.",
        "下列运行处理的词元明显少于同一模型的其他种子，可能是机器上有别的程序在运行：{runs}。"
        "得分可能偏低；可用 --again 重跑它们及其全部后续结果。",
    ),
    "incomplete_caution": (
        "Not eligible, because of missing scores: {models}.",
        "因缺少某些任务的得分而未参与推荐：{models}。",
    ),
    "all_incomplete_caution": (
        "No model has a score on every task: the recommendation considers those with the most scores.",
        "没有一个模型在所有任务上都有得分：只在得分最多的模型中推荐。",
    ),
    "waiting_caution": (
        "The study is not finished: {number} of {all} runs are still missing, and the recommendation may change.",
        "研究尚未完成：{all} 次运行中还有 {number} 次未完成，推荐可能改变。",
    ),
    "waiting_caution_one": (
        "The study is not finished: one of {all} runs is still missing, and the recommendation may change.",
        "研究尚未完成：{all} 次运行中还有 1 次未完成，推荐可能改变。",
    ),
    # a task
    "best_alone": ("{best} is significantly better than all others.", "{best} 显著优于其他所有模型。"),
    "best_none_worse": (
        "{best} has the highest mean, but no model is significantly worse.",
        "{best} 的平均分最高，但没有模型显著低于它。",
    ),
    "best_of_group": (
        "{best} has the highest mean; not significantly worse: {alike}; significantly worse: {rest}.",
        "{best} 的平均分最高；无显著差异的有：{alike}；显著更低的有：{rest}。",
    ),
    "is_better": (
        "{better} is better than {worse} by {by} points (95% CI {low} to {high}).",
        "{better} 比 {worse} 高 {by} 分（95% 置信区间 {low} 至 {high}）。",
    ),
    "same_more_seeds": (
        "{first} and {second} do not differ significantly with {number} seeds; about {more} more would be needed.",
        "用 {number} 个种子，{first} 与 {second} 没有显著差异；大约还需要 {more} 个种子。",
    ),
    "same_more_seeds_one": (
        "{first} and {second} do not differ significantly with one seed; about {more} more would be needed.",
        "用 1 个种子，{first} 与 {second} 没有显著差异；大约还需要 {more} 个种子。",
    ),
    "same_too_many": (
        "{first} and {second} do not differ significantly with {number} seeds; more than {more} more would be needed.",
        "用 {number} 个种子，{first} 与 {second} 没有显著差异；还需要 {more} 个以上的种子。",
    ),
    "same_too_many_one": (
        "{first} and {second} do not differ significantly with one seed; more than {more} more would be needed.",
        "用 1 个种子，{first} 与 {second} 没有显著差异；还需要 {more} 个以上的种子。",
    ),
    "same_more_rows": (
        "{first} and {second} do not differ significantly with {seeds} seeds; this needs more test examples, not more seeds.",
        "用 {seeds} 个种子，{first} 与 {second} 没有显著差异；需要的是更多测试样本，而不是更多种子。",
    ),
    "same_one_seed": (
        "{first} and {second} do not differ significantly with one seed.",
        "用 1 个种子，{first} 与 {second} 没有显著差异。",
    ),
    "same_seeds_many": (
        "With {seeds} seeds {best} does not differ significantly from these models (in brackets: additional seeds needed, "
        "approximately): {models}.",
        "用 {seeds} 个种子，{best} 与下列模型没有显著差异（括号内为大约还需要的种子数）：{models}。",
    ),
    "same_rows_many": (
        "More seeds would not separate {best} from {models}: this needs more test examples.",
        "增加种子无法区分 {best} 与 {models}，需要更多测试样本。",
    ),
    "seeds_item": ("{model} ({more})", "{model}（{more}）"),
    "against_control": ("Compared with {control}, {verdicts}", "与 {control}相比，{verdicts}"),
    "all_recipes": ("all recipes", "所有配方"),
    "control_behind": ("significantly better: {models}", "显著更好：{models}"),
    "control_same": ("no significant difference: {models}", "无显著差异：{models}"),
    "control_ahead": ("significantly worse: {models}", "显著更差：{models}"),
    "absent": ("No score on this task: {models} ({states}).", "在此任务上没有得分：{models}（{states}）。"),
    # cost
    "front": (
        "On the Pareto front (no other model is both better and faster): {models}.",
        "处于帕累托前沿（没有别的模型既更好又更快）：{models}。",
    ),
    "front_one": ("No other model is better or faster than {models}.", "没有别的模型比它更好或更快：{models}。"),
    "front_item": ("{model} ({quality}, {rate} per second)", "{model}（{quality}，每秒 {rate} 条）"),
    # probes
    "probe_sentence": (
        "The best probe is {model} at {layer} with {score}; the majority class gives {majority}.",
        "最高的是 {model} 的{layer}，为 {score}；多数类基线为 {majority}。",
    ),
}
