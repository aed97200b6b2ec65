"""Quality against latency, throughput or size: a point a model, the front, a table, and the command that makes each."""

from __future__ import annotations

from plume.view.page import ViewPanel

PANEL = ViewPanel(
    name="frontier",
    words={
        "title": ("Quality and cost", "质量与代价"),
        "across": ("across", "横轴"),
        "latency": ("latency of one text (ms)", "单条延迟（毫秒）"),
        "bytes": ("size on disk (MB)", "磁盘大小（MB）"),
        "rate": ("throughput (texts/s)", "吞吐量（条/秒）"),
        "quality": ("quality", "质量"),
        "area_bytes": ("area: size on disk", "面积：磁盘大小"),
        "area_latency": ("area: latency", "面积：延迟"),
        "baseline": ("original", "原模型"),
        "variant": ("small model", "小模型"),
        "control": ("control: student without a teacher", "对照：无教师直接训练的学生"),
        "front": ("front: no other is as good and as cheap", "前沿：没有同样好且更省的模型"),
        "choose": (
            "Choose a point or a row to see the command that makes the model.",
            "点选一个点或一行，查看得到该模型的命令。",
        ),
        "is_original": ("This is the model that is made small.", "这就是被压缩的原模型。"),
        "command": ("Command", "命令"),
        "copy": ("Copy", "复制"),
        "copied": ("Copied", "已复制"),
        "copy_failed": ("Select the text and copy it.", "请选中文字后复制。"),
        "against": ("Compared with the original:", "与原模型相比："),
        "size": ("size", "体积"),
        "one_text": ("latency", "延迟"),
        "many_texts": ("throughput", "吞吐量"),
        "control_says": (
            "Its control, the same student trained on labels alone ({name}), has {quality}: distilling brings {gain} points.",
            "其对照（同一学生仅用标签训练，{name}）为 {quality}：蒸馏带来 {gain} 分。",
        ),
        "col_name": ("model", "模型"),
        "col_quality": ("quality", "质量"),
        "col_latency": ("ms, one text", "单条毫秒"),
        "col_rate": ("texts/s", "条/秒"),
        "col_bytes": ("MB", "MB"),
        "col_parameters": ("parameters", "参数量"),
        "col_runtime": ("runtime", "运行时"),
        "col_seconds": ("time to make", "制作用时"),
        "failed": ("Not made", "未能得到"),
        "point": (
            "{name}: quality {quality}, {latency} ms, {bytes} MB",
            "{name}：质量 {quality}，{latency} 毫秒，{bytes} MB",
        ),
        "no_points": ("Nothing has been timed yet.", "尚未测速。"),
        "sort": ("sort by {name}", "按{name}排序"),
        "on_front": ("on the front", "位于前沿"),
        "picture": ("{count} models: {across} across, quality upwards", "{count} 个模型：横轴为{across}，纵轴为质量"),
        "second": ("s", "秒"),
        "minute": ("min", "分"),
    },
)
