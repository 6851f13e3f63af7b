# mypy: ignore-errors
# It runs in the application's own environment.
"""Experiments, runs, models, prompts and traces of an MLflow: ``python mlflow_seed.py WORKDIR``."""

import os
import random
import sys
import uuid
from pathlib import Path

# Addresses hold them: they are the same each time.
numbers = random.Random(0)
uuid.uuid4 = lambda: uuid.UUID(int=numbers.getrandbits(128), version=4)
os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "GIT_PYTHON_REFRESH": "quiet"}

import mlflow  # noqa: E402
from mlflow import MlflowClient  # noqa: E402
from mlflow.tracing import provider  # noqa: E402
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator  # noqa: E402

random.seed(0)
provider._IsolatedRandomIdGenerator = RandomIdGenerator
work = Path(sys.argv[1]).absolute()
mlflow.set_tracking_uri(f"sqlite:///{work}/mlflow.db")
client = MlflowClient()
for name in ("Harvest", "Weather"):
    experiment = client.create_experiment(name, artifact_location=f"{work}/artifacts/{name}")
    for number, rate in enumerate((0.1, 0.2, 0.3)):
        run = client.create_run(experiment, run_name=f"{name.lower()}-{number}", tags={"room": "two"})
        client.log_param(run.info.run_id, "rate", rate)
        for step in range(3):
            client.log_metric(run.info.run_id, "loss", 1 / (1 + step + rate), step=step)
        client.log_text(run.info.run_id, f"{name}\n", "notes.txt")
        client.set_terminated(run.info.run_id)
    client.create_registered_model(f"{name} model", description="Of the last year.")
    for _ in range(2):
        client.create_model_version(f"{name} model", f"{work}/artifacts/{name}", run.info.run_id)
    mlflow.genai.register_prompt(name=f"{name}-prompt", template=f"Tell of the {name.lower()} of {{{{year}}}}.")
    mlflow.set_experiment(name)
    for question in ("How much?", "When?"):
        with mlflow.start_span(name="ask") as span:
            span.set_inputs({"question": question})
            span.set_outputs({"answer": "In August."})
mlflow.flush_trace_async_logging()
