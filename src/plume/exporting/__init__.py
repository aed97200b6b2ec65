"""A model as one file that runs without plume: ONNX or TorchScript, checked against torch. Beside it tokenizer, config and a script."""
