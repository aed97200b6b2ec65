"""SetFit 1.2 (arXiv:2209.11055) on a Hugging Face body with mean pooling, in an environment that has it: HF-DIR TRAIN.jsonl DEV.jsonl SEED."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from datasets import Dataset
from sentence_transformers import SentenceTransformer, models
from setfit import SetFitModel, Trainer, TrainingArguments


def rows(path: str) -> list[dict[str, str]]:
    read = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return [{"text": row["text"] if "text" in row else f"{row['text_a']} {row['text_b']}", "label": str(row["label"])} for row in read]


def main() -> None:
    body, train, dev, seed = sys.argv[1:]
    learned, asked = rows(train), rows(dev)
    labels = sorted({row["label"] for row in learned})
    number = {label: place for place, label in enumerate(labels)}
    with tempfile.TemporaryDirectory() as folder:
        whole = models.Transformer(body, max_seq_length=128)
        SentenceTransformer(modules=[whole, models.Pooling(whole.get_word_embedding_dimension())], device="cpu").save(folder)
        model = SetFitModel.from_pretrained(folder)
        given = TrainingArguments(
            output_dir=folder, batch_size=16, num_epochs=1, seed=int(seed), report_to="none", max_steps=-1, show_progress_bar=False
        )
        Trainer(
            model=model, args=given, train_dataset=Dataset.from_list([row | {"label": number[row["label"]]} for row in learned])
        ).train()
        said = [int(one) for one in model.predict([row["text"] for row in asked])]
    print(json.dumps({"accuracy": sum(labels[one] == row["label"] for one, row in zip(said, asked, strict=True)) / len(asked)}))


if __name__ == "__main__":
    main()
