"""plume serve"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plume.cli._options import Device

_OLD, _RAY = "bert-as-service", "Several machines"


def run(
    directories: Annotated[
        list[str], typer.Argument(metavar="DIR…", help="Model directories, indexes and Hugging Face directories; name=DIR to name one.")
    ],
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any free one.")] = 8000,
    runtime: Annotated[
        str | None,
        typer.Option(
            help="torch, onnx, onnx-int8, torch-int8, or auto: the fastest whose vectors agree.  [default: what the model prefers, else torch]"
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads.  [default: all cores]")] = None,
    device: Device = "cpu",
    workers: Annotated[int, typer.Option(help="Number of processes, each with all models.")] = 1,
    memory: Annotated[str | None, typer.Option(help="Memory for models (800MB, 2GB); the least used are unloaded.  [default: all]")] = None,
    max_tokens: Annotated[int, typer.Option(help="Tokens in a batch.")] = 16384,
    queue_tokens: Annotated[int, typer.Option(help="Tokens that may wait for a model before requests are refused.")] = 262144,
    max_body: Annotated[str, typer.Option(help="Largest body of a request.")] = "16MB",
    max_characters: Annotated[int, typer.Option(help="Longest text of a request.")] = 1_000_000,
    max_texts: Annotated[int, typer.Option(help="Most texts of a request.")] = 2048,
    max_new_tokens: Annotated[int, typer.Option(help="Most tokens that a text may be asked to have when it is generated.")] = 2048,
    timeout: Annotated[float, typer.Option(help="Seconds until a request must be answered.")] = 60.0,
    api_key_file: Annotated[Path | None, typer.Option(help="File of API keys: key, name and rate (10/s) a line.")] = None,
    cors: Annotated[list[str] | None, typer.Option(help="Origin of web pages that may ask, or * for all.  [default: none]")] = None,
    log_texts: Annotated[bool, typer.Option("--log-texts", help="Write the texts of requests into the log.")] = False,
    engine: Annotated[str, typer.Option(help="Where to run: local or ray (Ray Serve).", rich_help_panel=_RAY)] = "local",
    address: Annotated[str | None, typer.Option(help="Address of a running Ray cluster: auto, or host:port.", rich_help_panel=_RAY)] = None,
    replicas: Annotated[str, typer.Option(help="Replicas: 2, or 1-8 for as many as there is work for.", rich_help_panel=_RAY)] = "1",
    bert_as_service: Annotated[
        bool, typer.Option("--bert-as-service", help="Answer bert-as-service's clients too, with the first model.", rich_help_panel=_OLD)
    ] = False,
    port_in: Annotated[int, typer.Option(help="Port of requests.", rich_help_panel=_OLD)] = 5555,
    port_out: Annotated[int, typer.Option(help="Port of answers.", rich_help_panel=_OLD)] = 5556,
    max_seq_len: Annotated[str, typer.Option(help="Tokens of a text; NONE: as many as the longest has.", rich_help_panel=_OLD)] = "25",
    pooling_layer: Annotated[str, typer.Option(help="Layer, or several side by side: -4,-3.", rich_help_panel=_OLD)] = "-2",
    pooling_strategy: Annotated[
        str,
        typer.Option(
            help="NONE, REDUCE_MEAN, REDUCE_MAX, REDUCE_MEAN_MAX, CLS_TOKEN, SEP_TOKEN or CLS_POOLED; of a fine-tuned model also "
            "CLASSIFICATION or REGRESSION.",
            rich_help_panel=_OLD,
        ),
    ] = "REDUCE_MEAN",
    mask_cls_sep: Annotated[bool, typer.Option("--mask-cls-sep", help="Do not pool special tokens.", rich_help_panel=_OLD)] = False,
    fixed_embed_length: Annotated[
        bool, typer.Option("--fixed-embed-length", help="NONE: as many vectors as the model has positions.", rich_help_panel=_OLD)
    ] = False,
    show_tokens_to_client: Annotated[
        bool, typer.Option("--show-tokens-to-client", help="Send tokens with the vectors.", rich_help_panel=_OLD)
    ] = False,
    max_batch_size: Annotated[int, typer.Option(help="Texts of one request computed at once.", rich_help_panel=_OLD)] = 256,
    priority_batch_size: Annotated[int, typer.Option(help="Requests of so many texts go first.", rich_help_panel=_OLD)] = 16,
) -> None:
    """Serve models and indexes over HTTP: embeddings as OpenAI has them, predictions, search …"""
    from plume.serve.bert_settings import BertServiceSettings, layers_of, length_of, strategy_of
    from plume.serve.models.served import find_served
    from plume.serve.settings import ServeSettings, in_bytes, replicas_of
    from plume.serve.starting import serve

    bert = BertServiceSettings(
        port_in=port_in, port_out=port_out, max_seq_len=length_of(max_seq_len), pooling_layer=layers_of(pooling_layer),
        pooling_strategy=strategy_of(pooling_strategy), mask_cls_sep=mask_cls_sep, fixed_embed_length=fixed_embed_length,
        show_tokens_to_client=show_tokens_to_client, max_batch_size=max_batch_size, priority_batch_size=priority_batch_size,
    )  # fmt: skip
    settings = ServeSettings(
        host=host, port=port, runtime=runtime, threads=threads, device=device, workers=workers, engine=engine, replicas=replicas_of(replicas),
        memory=None if memory is None else in_bytes(memory, "--memory"), batch_tokens=max_tokens, queue_tokens=queue_tokens,
        body_bytes=in_bytes(max_body, "--max-body"), text_characters=max_characters, batch_texts=max_texts, new_tokens=max_new_tokens,
        timeout=timeout, keys=api_key_file, cors=tuple(cors or ()), log_texts=log_texts, bert=bert if bert_as_service else None,
    )  # fmt: skip
    if settings.engine == "ray":
        from plume.serve.on_ray import serve_on_ray

        serve_on_ray(find_served(directories), settings, address=address)
        return
    serve(find_served(directories), settings)
