"""A server as one writes it in a minute, FastAPI and sentence-transformers: the peer of bench/serve.py that everybody has.

python bench/_serve_plain.py FOLDER PORT
"""

import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer

app, model = FastAPI(), SentenceTransformer(sys.argv[1], device="cpu")


class Asked(BaseModel):
    """OpenAI's fields."""

    model: str
    input: str | list[str]


@app.post("/v1/embeddings")
def embeddings(asked: Asked) -> dict:
    """One vector a text."""
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    vectors = model.encode(texts, show_progress_bar=False)
    return {"object": "list", "data": [{"object": "embedding", "index": n, "embedding": row.tolist()} for n, row in enumerate(vectors)]}


uvicorn.run(app, port=int(sys.argv[2]), log_level="warning")
