"""plume serve"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plume.cli._options import Device


def run(
    directories: Annotated[
        list[str], typer.Argument(metavar="DIR…", help="Model directories, indexes and Hugging Face directories; name=DIR to name one.")
    ],
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any free one.")] = 8000,
    runtime: Annotated[str, typer.Option(help="torch, onnx, onnx-int8, or auto: the fastest whose vectors agree.")] = "torch",
    threads: Annotated[int | None, typer.Option(help="CPU threads.  [default: all cores]")] = None,
    device: Device = "cpu",
    workers: Annotated[int, typer.Option(help="Number of processes, each with all models.")] = 1,
    memory: Annotated[str | None, typer.Option(help="Memory for models (800MB, 2GB); the least used are unloaded.  [default: all]")] = None,
    max_tokens: Annotated[int, typer.Option(help="Tokens in a batch.")] = 16384,
    queue_tokens: Annotated[int, typer.Option(help="Tokens that may wait for a model before requests are refused.")] = 262144,
    max_body: Annotated[str, typer.Option(help="Largest body of a request.")] = "16MB",
    max_characters: Annotated[int, typer.Option(help="Longest text of a request.")] = 1_000_000,
    max_texts: Annotated[int, typer.Option(help="Most texts of a request.")] = 2048,
    timeout: Annotated[float, typer.Option(help="Seconds until a request must be answered.")] = 60.0,
    api_key_file: Annotated[Path | None, typer.Option(help="File of API keys: key, name and rate (10/s) a line.")] = None,
    cors: Annotated[list[str] | None, typer.Option(help="Origin of web pages that may ask, or * for all.  [default: none]")] = None,
    log_texts: Annotated[bool, typer.Option("--log-texts", help="Write the texts of requests into the log.")] = False,
) -> None:
    """Serve models and indexes over HTTP: embeddings as OpenAI has them, predictions, search …"""
    from plume.serve.models.served import find_served
    from plume.serve.settings import ServeSettings, in_bytes
    from plume.serve.starting import serve

    settings = ServeSettings(
        host=host, port=port, runtime=runtime, threads=threads, device=device, workers=workers,
        memory=None if memory is None else in_bytes(memory, "--memory"), batch_tokens=max_tokens, queue_tokens=queue_tokens,
        body_bytes=in_bytes(max_body, "--max-body"), text_characters=max_characters, batch_texts=max_texts, timeout=timeout,
        keys=api_key_file, cors=tuple(cors or ()), log_texts=log_texts,
    )  # fmt: skip
    serve(find_served(directories), settings)
