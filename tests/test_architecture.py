"""The house rules that no linter knows; each is shown to fail on a bad example."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from networkx import DiGraph, strongly_connected_components

from shared.text.prompts import PromptFile, load_prompt

ROOT = Path(__file__).parent.parent
PACKAGES = ("shared", "edge_node", "cloud_server", "deploy", "benchmarks")
MAX_MODULE_LINES = 700
MIN_DOCSTRING_CHARS = 10  # a dot is no documentation
MAX_FUNCTION_LINES = 40  # signature and body, without the docstring

# What only a border file may import: the network, files, processes, threads, time and chance.
# fmt: off
IO_MODULES = frozenset([
    "asyncio", "concurrent.futures", "ctypes", "fastapi", "glob", "http", "httpx2", "importlib.resources", "logging",
    "multiprocessing", "os", "pathlib", "random", "secrets", "shutil", "signal", "socket", "sqlite3", "sse_starlette", "starlette",
    "subprocess", "tempfile", "threading", "time", "urllib.request", "uvicorn", "uvloop",
])
# fmt: on

# The border files, sorted. Everything else is pure: values in, values out (CONTRIBUTING.md, "How to add a border file").
BORDER = [
    "benchmarks/__main__.py",
    "benchmarks/answering/cloud_prompts.py",
    "benchmarks/answering/follow_ups.py",
    "benchmarks/answering/labels.py",
    "benchmarks/answering/self_calibration.py",
    "benchmarks/answering/support.py",
    "benchmarks/clouds/federation.py",
    "benchmarks/clouds/hijack.py",
    "benchmarks/clouds/hnsw.py",
    "benchmarks/clouds/letters.py",
    "benchmarks/clouds/light_edges.py",
    "benchmarks/clouds/matching.py",
    "benchmarks/clouds/membership.py",
    "benchmarks/clouds/same_stores.py",
    "benchmarks/clouds/support_price.py",
    "benchmarks/clouds/ten_edges.py",
    "benchmarks/clouds/thousand_edges.py",
    "benchmarks/cluster.py",
    "benchmarks/config.py",
    "benchmarks/datasets/__init__.py",
    "benchmarks/datasets/corpus.py",
    "benchmarks/datasets/narrowed.py",
    "benchmarks/datasets/passages.py",
    "benchmarks/datasets/ultradomain.py",
    "benchmarks/edges/console.py",
    "benchmarks/edges/embedder_change.py",
    "benchmarks/edges/indexing.py",
    "benchmarks/edges/large_edge.py",
    "benchmarks/edges/large_store.py",
    "benchmarks/edges/life.py",
    "benchmarks/edges/pieces.py",
    "benchmarks/edges/start_up.py",
    "benchmarks/edges/sync.py",
    "benchmarks/erarag/growth.py",
    "benchmarks/erarag/growth_models.py",
    "benchmarks/erarag/method_pieces.py",
    "benchmarks/erarag/tree.py",
    "benchmarks/evidence.py",
    "benchmarks/files/format_files.py",
    "benchmarks/files/formats.py",
    "benchmarks/files/hostile_files.py",
    "benchmarks/files/hostile_formats.py",
    "benchmarks/files/readers.py",
    "benchmarks/files/reading_process.py",
    "benchmarks/files/table_cells.py",
    "benchmarks/graphrag/claims.py",
    "benchmarks/graphrag/global_answers.py",
    "benchmarks/graphrag/leiden.py",
    "benchmarks/graphrag/levels.py",
    "benchmarks/graphrag/questions.py",
    "benchmarks/instant_edge.py",
    "benchmarks/journal.py",
    "benchmarks/languages/language_sites.py",
    "benchmarks/languages/masked_persons.py",
    "benchmarks/languages/multilingual.py",
    "benchmarks/languages/names.py",
    "benchmarks/languages/own_language.py",
    "benchmarks/machine.py",
    "benchmarks/memories/again.py",
    "benchmarks/memories/construction.py",
    "benchmarks/memories/hypergraph.py",
    "benchmarks/memories/lookup.py",
    "benchmarks/memories/paraphrases.py",
    "benchmarks/memories/recall.py",
    "benchmarks/memories/restoration.py",
    "benchmarks/memories/same_answers.py",
    "benchmarks/memories/single_facts.py",
    "benchmarks/meters.py",
    "benchmarks/peers/corpus.py",
    "benchmarks/peers/driver.py",
    "benchmarks/peers/edge.py",
    "benchmarks/peers/environments.py",
    "benchmarks/peers/fast_graphrag.py",
    "benchmarks/peers/lightrag.py",
    "benchmarks/peers/model_server.py",
    "benchmarks/peers/nano_graphrag.py",
    "benchmarks/peers/run.py",
    "benchmarks/peers/wire.py",
    "benchmarks/reading.py",
    "benchmarks/report/__init__.py",
    "benchmarks/report/marked.py",
    "benchmarks/runner.py",
    "benchmarks/sharing.py",
    "benchmarks/stages/__init__.py",
    "benchmarks/stages/idle.py",
    "benchmarks/stages/index.py",
    "benchmarks/stages/opening.py",
    "benchmarks/stages/reports.py",
    "benchmarks/stages/retrieval.py",
    "benchmarks/stages/routing.py",
    "benchmarks/systems.py",
    "benchmarks/under_load.py",
    "cloud_server/__main__.py",
    "cloud_server/answering/availability.py",
    "cloud_server/answering/coordinator.py",
    "cloud_server/answering/fan_out.py",
    "cloud_server/answering/gathering.py",
    "cloud_server/answering/mailbox.py",
    "cloud_server/answering/overview.py",
    "cloud_server/answering/passages.py",
    "cloud_server/answering/shared_mailbox.py",
    "cloud_server/api/access.py",
    "cloud_server/api/app.py",
    "cloud_server/api/console/federation.py",
    "cloud_server/api/console/invite.py",
    "cloud_server/api/console/match.py",
    "cloud_server/api/edges.py",
    "cloud_server/api/operators.py",
    "cloud_server/api/questions.py",
    "cloud_server/api/service.py",
    "cloud_server/database/erasing.py",
    "cloud_server/database/letters.py",
    "cloud_server/database/notices.py",
    "cloud_server/database/opening.py",
    "cloud_server/database/postgres.py",
    "cloud_server/moving.py",
    "cloud_server/registry/authenticator.py",
    "cloud_server/registry/credentials.py",
    "cloud_server/registry/enrolment.py",
    "cloud_server/registry/ledger_heads.py",
    "cloud_server/registry/nonces.py",
    "cloud_server/registry/sealing.py",
    "cloud_server/routing/lexical.py",
    "cloud_server/routing/memory_index.py",
    "cloud_server/routing/renewal.py",
    "cloud_server/routing/replica.py",
    "cloud_server/routing/screening.py",
    "cloud_server/routing/summary_index.py",
    "cloud_server/settings.py",
    "deploy/cli/add.py",
    "deploy/cli/archive.py",
    "deploy/cli/ask.py",
    "deploy/cli/audit.py",
    "deploy/cli/calibrate.py",
    "deploy/cli/cloud.py",
    "deploy/cli/demo.py",
    "deploy/cli/documents.py",
    "deploy/cli/edge.py",
    "deploy/cli/evaluate.py",
    "deploy/cli/keys.py",
    "deploy/cli/knowledge.py",
    "deploy/cli/main.py",
    "deploy/cli/mcp.py",
    "deploy/cli/membership.py",
    "deploy/cli/model.py",
    "deploy/cli/move.py",
    "deploy/cli/policy.py",
    "deploy/cli/rest.py",
    "deploy/cli/rest_target.py",
    "deploy/cli/scenario.py",
    "deploy/cli/sending.py",
    "deploy/cli/status.py",
    "deploy/cli/store.py",
    "deploy/cli/sync.py",
    "deploy/cli/up.py",
    "deploy/cluster/balancing.py",
    "deploy/cluster/child.py",
    "deploy/cluster/control.py",
    "deploy/cluster/docker.py",
    "deploy/cluster/launch.py",
    "deploy/cluster/lifecycle.py",
    "deploy/cluster/local.py",
    "deploy/cluster/names.py",
    "deploy/cluster/postgres.py",
    "deploy/cluster/processes.py",
    "deploy/cluster/runtimes.py",
    "deploy/cluster/state.py",
    "deploy/cluster/supervisor.py",
    "deploy/container/__main__.py",
    "deploy/container/clouds_start.py",
    "deploy/container/edge_start.py",
    "deploy/container/first_start.py",
    "deploy/container/health.py",
    "deploy/environment.py",
    "deploy/evaluation/results.py",
    "deploy/lab/__main__.py",
    "deploy/lab/namespaces.py",
    "deploy/lab/network.py",
    "deploy/lab/no_model.py",
    "deploy/lab/play.py",
    "deploy/lab/relay.py",
    "deploy/tools/to_safetensors.py",
    "deploy/tools/wheel.py",
    "edge_node/answering/answerer.py",
    "edge_node/answering/chat_titles.py",
    "edge_node/answering/copied_facts.py",
    "edge_node/answering/fast_path.py",
    "edge_node/answering/feedback.py",
    "edge_node/answering/follow_up.py",
    "edge_node/answering/for_others.py",
    "edge_node/answering/mapping.py",
    "edge_node/answering/other_words.py",
    "edge_node/answering/overview.py",
    "edge_node/answering/picking.py",
    "edge_node/answering/released.py",
    "edge_node/answering/search.py",
    "edge_node/api/access.py",
    "edge_node/api/app.py",
    "edge_node/api/archive.py",
    "edge_node/api/backups.py",
    "edge_node/api/calibration.py",
    "edge_node/api/chat.py",
    "edge_node/api/communities.py",
    "edge_node/api/console/ask.py",
    "edge_node/api/console/audit.py",
    "edge_node/api/console/document.py",
    "edge_node/api/console/documents.py",
    "edge_node/api/console/graph.py",
    "edge_node/api/console/health.py",
    "edge_node/api/console/sharing.py",
    "edge_node/api/dify.py",
    "edge_node/api/documents.py",
    "edge_node/api/embeddings.py",
    "edge_node/api/forms.py",
    "edge_node/api/mcp/inside.py",
    "edge_node/api/mcp/over_http.py",
    "edge_node/api/mcp/rest.py",
    "edge_node/api/mcp/route.py",
    "edge_node/api/mcp/server.py",
    "edge_node/api/mcp/tools.py",
    "edge_node/api/memories.py",
    "edge_node/api/metrics.py",
    "edge_node/api/ollama.py",
    "edge_node/api/policy.py",
    "edge_node/api/questions.py",
    "edge_node/api/safe_mode.py",
    "edge_node/api/service.py",
    "edge_node/api/streaming.py",
    "edge_node/build.py",
    "edge_node/calibration/service.py",
    "edge_node/change.py",
    "edge_node/cloud/client.py",
    "edge_node/cloud/link.py",
    "edge_node/cloud/membership.py",
    "edge_node/cloud/sync.py",
    "edge_node/communities/claim_reader.py",
    "edge_node/communities/report_writer.py",
    "edge_node/communities/service.py",
    "edge_node/communities/store.py",
    "edge_node/database/backup.py",
    "edge_node/database/check.py",
    "edge_node/database/chunk_parts.py",
    "edge_node/database/commits.py",
    "edge_node/database/outbox.py",
    "edge_node/database/prepared.py",
    "edge_node/database/public_ids.py",
    "edge_node/database/replies.py",
    "edge_node/database/schema.py",
    "edge_node/database/vectors.py",
    "edge_node/documents/archive.py",
    "edge_node/documents/changing.py",
    "edge_node/documents/chunking.py",
    "edge_node/documents/estimate.py",
    "edge_node/documents/jobs.py",
    "edge_node/documents/lane.py",
    "edge_node/documents/lexical.py",
    "edge_node/documents/originals.py",
    "edge_node/documents/progress.py",
    "edge_node/documents/read_by.py",
    "edge_node/documents/readers/__main__.py",
    "edge_node/documents/readers/confinement.py",
    "edge_node/documents/readers/pool.py",
    "edge_node/documents/readers/tessdata.py",
    "edge_node/documents/receipts.py",
    "edge_node/documents/store.py",
    "edge_node/documents/worker.py",
    "edge_node/egress/dry_run.py",
    "edge_node/egress/ledger.py",
    "edge_node/egress/memory_outbox.py",
    "edge_node/egress/memory_sharing.py",
    "edge_node/egress/meter.py",
    "edge_node/egress/policy_editor.py",
    "edge_node/egress/policy_file.py",
    "edge_node/egress/sharing.py",
    "edge_node/extraction/__main__.py",
    "edge_node/extraction/extractor.py",
    "edge_node/extraction/model_extraction.py",
    "edge_node/extraction/packs/words.py",
    "edge_node/extraction/parser_process.py",
    "edge_node/folders/files.py",
    "edge_node/folders/following.py",
    "edge_node/folders/inside.py",
    "edge_node/folders/keeper.py",
    "edge_node/folders/memory.py",
    "edge_node/folders/syncing.py",
    "edge_node/graph/leiden.py",
    "edge_node/graph/mentions.py",
    "edge_node/graph/passages.py",
    "edge_node/graph/refinement.py",
    "edge_node/graph/resolution.py",
    "edge_node/graph/store.py",
    "edge_node/graph/update.py",
    "edge_node/maintenance.py",
    "edge_node/memory/clustering.py",
    "edge_node/memory/index.py",
    "edge_node/memory/service.py",
    "edge_node/memory/store.py",
    "edge_node/memory/writer.py",
    "edge_node/model_task.py",
    "edge_node/node.py",
    "edge_node/plugins/parsers/ocr.py",
    "edge_node/plugins/parsers/pdf_objects.py",
    "edge_node/plugins/parsers/pdfium.py",
    "edge_node/plugins/tables/sandbox.py",
    "edge_node/plugins/tables/stage.py",
    "edge_node/reading.py",
    "edge_node/settings.py",
    "edge_node/strategies/dgrag/search.py",
    "edge_node/strategies/dgrag/strategy.py",
    "edge_node/strategies/erarag/growing.py",
    "edge_node/strategies/erarag/store.py",
    "edge_node/strategies/erarag/strategy.py",
    "edge_node/strategies/erarag/tree.py",
    "edge_node/strategies/fdrag.py",
    "edge_node/strategies/graphrag.py",
    "edge_node/strategies/index.py",
    "edge_node/strategies/ketrag/core.py",
    "edge_node/strategies/ketrag/index.py",
    "edge_node/strategies/ketrag/strategy.py",
    "edge_node/strategies/naive.py",
    "edge_node/strategies/write_path.py",
    "shared/admission.py",
    "shared/client/access.py",
    "shared/client/calls.py",
    "shared/client/clients.py",
    "shared/client/errors.py",
    "shared/client/hearing.py",
    "shared/client/llama_index.py",
    "shared/client/tries.py",
    "shared/drafts.py",
    "shared/http/access.py",
    "shared/http/addresses.py",
    "shared/http/background.py",
    "shared/http/caching.py",
    "shared/http/connections.py",
    "shared/http/console/keys.py",
    "shared/http/console/pages.py",
    "shared/http/console/routes.py",
    "shared/http/console/sessions.py",
    "shared/http/docs.py",
    "shared/http/doorkeeper.py",
    "shared/http/issuer.py",
    "shared/http/keyring.py",
    "shared/http/keys.py",
    "shared/http/middleware.py",
    "shared/http/open_mode.py",
    "shared/http/problems.py",
    "shared/http/service.py",
    "shared/identity.py",
    "shared/idle.py",
    "shared/index/exact.py",
    "shared/joining.py",
    "shared/limits.py",
    "shared/models/build.py",
    "shared/models/catalogue.py",
    "shared/models/chat_server.py",
    "shared/models/embedders.py",
    "shared/models/embedding_server.py",
    "shared/models/fetch.py",
    "shared/models/fingerprint.py",
    "shared/models/front.py",
    "shared/models/openai_compatible.py",
    "shared/models/sentence_encoder.py",
    "shared/models/serve.py",
    "shared/models/settings.py",
    "shared/models/wheels.py",
    "shared/models/wordpiece.py",
    "shared/ports.py",
    "shared/reduce.py",
    "shared/settings.py",
    "shared/signing.py",
    "shared/sqlite.py",
    "shared/telemetry/correlation.py",
    "shared/telemetry/logs.py",
    "shared/telemetry/metrics.py",
    "shared/telemetry/spans.py",
    "shared/telemetry/trace.py",
    "shared/text/no_answer.py",
    "shared/text/prompts.py",
    "shared/text/support.py",
    "shared/text/values.py",
    "shared/tls.py",
]

# The only files outside settings.py that touch the environment: they start processes with an environment, or set what a library reads.
ENVIRONMENT_READERS = [
    "benchmarks/cluster.py",
    "benchmarks/edges/life.py",
    "benchmarks/peers/environments.py",
    "benchmarks/under_load.py",
    "deploy/cli/rest.py",
    "deploy/cluster/processes.py",
    "deploy/container/__main__.py",
    "shared/client/access.py",
    "shared/http/service.py",
    "shared/models/serve.py",
]


@dataclass(frozen=True, slots=True)
class Module:
    """One source file: its path under the root, its text and its syntax tree."""

    path: str
    text: str
    tree: ast.Module


parsed = cache(ast.parse)  # most tests look at all files


def modules(root: Path = ROOT) -> list[Module]:
    files = sorted(file for package in PACKAGES for file in (root / package).rglob("*.py"))
    texts = [(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")) for file in files]
    return [Module(path, text, parsed(text)) for path, text in texts]


def imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def does_io(module: Module) -> bool:
    called = {node.func.id for node in ast.walk(module.tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return bool(called & {"open", "input"}) or any(
        name == io or name.startswith(f"{io}.") for name in imported_names(module.tree) for io in IO_MODULES
    )


def border_modules(root: Path = ROOT) -> list[str]:
    return [module.path for module in modules(root) if does_io(module)]


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def function_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def too_long(root: Path = ROOT) -> list[str]:
    found = []
    for module in modules(root):
        if (lines := len(module.text.splitlines())) > MAX_MODULE_LINES:
            found.append(f"{module.path}: {lines} lines")
        for function in functions(module.tree):
            if (lines := function_lines(function)) > MAX_FUNCTION_LINES:
                found.append(f"{module.path}:{function.lineno} {function.name}: {lines} lines")
    return found


def undocumented(root: Path = ROOT) -> list[str]:
    found = []
    for module in modules(root):
        public: list[ast.AST] = [module.tree]
        while public:
            node = public.pop()
            if len(ast.get_docstring(node) or "") < MIN_DOCSTRING_CHARS:  # type: ignore[arg-type]
                found.append(f"{module.path}:{getattr(node, 'lineno', 1)} {getattr(node, 'name', 'module')}")
            if isinstance(node, ast.Module | ast.ClassDef):
                public += [child for child in node.body if is_public(child)]
    return found


def is_public(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
        return False
    decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return not decorators & {"overload", "setter", "deleter"}


def dangers(root: Path = ROOT) -> list[str]:
    return [f"{module.path}:{line} {what}" for module in modules(root) for line, what in module_dangers(module)]


def module_dangers(module: Module) -> Iterator[tuple[int, str]]:
    forbidden_calls = {"eval", "exec", "yaml.load", "os.system"} | (set() if module.path.startswith("benchmarks/") else {"print"})
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            if (name := ast.unparse(node.func)) in forbidden_calls:
                yield node.lineno, name
            switches = {(keyword.arg, getattr(keyword.value, "value", None)) for keyword in node.keywords}
            yield from ((node.lineno, f"{name}={value}") for name, value in switches & {("verify", False), ("shell", True)})
        elif isinstance(node, ast.ExceptHandler) and swallows_all(node):
            yield node.lineno, "catch-all except"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            loaders = {name.partition(".")[0] for name in imported_names(node)} & {"pickle", "marshal", "shelve", "dill", "joblib"}
            yield from ((node.lineno, name) for name in loaders)


def swallows_all(handler: ast.ExceptHandler) -> bool:
    """It catches everything and does not end by raising on: cleaning up and raising on is fine."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    all_caught = any(each is None or ast.unparse(each) in {"Exception", "BaseException"} for each in caught)
    return all_caught and not isinstance(handler.body[-1], ast.Raise)


def environment_readers(root: Path = ROOT) -> list[str]:
    reads = re.compile(r"\bos\.(environb?|getenvb?|putenv)\b|from os import .*\b(environ|getenv)")
    return [module.path for module in modules(root) if reads.search(module.text) and not module.path.endswith("settings.py")]


def prompt_files(root: Path = ROOT) -> list[tuple[str, str]]:
    found = sorted(file for package in PACKAGES for file in (root / package).rglob("prompts/*.md"))
    return [(".".join(file.parent.parent.relative_to(root).parts), file.stem) for file in found]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def imports(root: Path = ROOT) -> dict[str, set[str]]:
    """By module the modules of ours that it names in an import, also inside functions and for types alone."""
    files = {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file
        for package in PACKAGES
        for file in (root / package).rglob("*.py")
    }
    found = dict[str, set[str]]()
    for module, file in files.items():
        nodes = [node for node in ast.walk(parsed(file.read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom)]
        named = {
            name if name in files else node.module or ""
            for node in nodes
            for name in (f"{node.module}.{alias.name}" for alias in node.names)
        }
        found[module] = {name for name in named if name in files and name != module}
    return found


def circles(named: dict[str, set[str]]) -> list[set[str]]:
    """The groups of which each names each other, straight or through others."""
    return [group for group in map(set, strongly_connected_components(DiGraph(named))) if len(group) > 1]


def between_folders(named: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same of folders; a folder and those inside it count as one."""

    def folder(module: str) -> str:
        return module.rpartition(".")[0] if module.count(".") > 1 else module

    found = dict[str, set[str]]()
    for module, others in named.items():
        here = folder(module)
        apart = {folder(other) for other in others}
        found.setdefault(here, set()).update(
            there for there in apart if not f"{there}.".startswith(f"{here}.") and not f"{here}.".startswith(f"{there}.")
        )
    return found


def private_places(root: Path = ROOT) -> list[str]:
    # The patterns are cut in two so that this file does not match itself.
    folders = re.compile("(?<![\\w.*])(" + "|".join(("/" + "work/", "/" + "root/", "/tmp" + "/w/")) + ")")
    hosts = re.compile("://[^/\\s\"'<>]*\\.(" + "internal|intranet|corp|lan)\\b")
    found = []
    for name in project_files(root):
        for number, line in enumerate((root / name).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            found += [f"{name}:{number} {match.group()}" for match in (folders.search(line), hosts.search(line)) if match]
    return found


def project_files(root: Path) -> list[str]:
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [name for name in listed.stdout.split("\0") if (root / name).is_file()]
    return [file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file() and ".venv" not in file.parts]


def dependencies(root: Path = ROOT) -> set[str]:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    return {normal(requirement) for group in groups for requirement in group} - {"dgrag"}


def unpinned(root: Path = ROOT) -> list[str]:
    pins = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return sorted(dependencies(root) - {normal(line) for line in pins if "==" in line} - {"vllm"})  # vllm pins its own world


def unexplained(root: Path = ROOT) -> list[str]:
    """Dependencies without a place in the first column of the table of reasons."""
    lines = (root / "docs" / "dependencies.md").read_text(encoding="utf-8").splitlines()
    named = [word for line in lines if line.startswith("| ") for word in re.findall(r"[\w.-]+", line.split("|")[1])]
    return sorted(dependencies(root) - {normal(word) for word in named})


def normal(requirement: str) -> str:
    """The package's name as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement, maxsplit=1)[0]).lower()


@pytest.fixture
def bad(tmp_path: Path):
    """Write a bad module into an empty tree and hand out the tree's root."""

    def write(text: str, path: str = "shared/bad.py") -> Path:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_only_border_files_do_io_and_every_border_file_does():
    actual = border_modules()
    unlisted, idle = sorted(set(actual) - set(BORDER)), sorted(set(BORDER) - set(actual))
    assert not unlisted, f"pure files must not import IO; make them pure, or add to BORDER: {unlisted}"
    assert not idle, f"these need no IO any more; take them off BORDER: {idle}"
    assert sorted(set(BORDER)) == BORDER


@pytest.mark.parametrize(
    "line",
    ["import os", "import os.path", "from pathlib import Path", "from importlib import resources", "import httpx2 as h", "open('x')"],
)
def test_an_io_import_makes_a_file_a_border_file(bad, line):
    assert border_modules(bad(line)) == ["shared/bad.py"]


@pytest.mark.parametrize("line", ["import osmnx", "from shared import time", "from . import os", "import importlib", "x = 'import os'"])
def test_a_pure_import_does_not(bad, line):
    assert border_modules(bad(line)) == []


def test_no_module_and_no_function_is_too_long():
    assert too_long() == []


def test_a_long_module_and_a_long_function_are_found_and_a_docstring_is_free(bad):
    docstring = '    """' + "Line.\n" * 60 + '    """\n'
    fits = "def fits():\n" + docstring + "    x = 1\n" * 39
    assert too_long(bad(fits)) == []
    assert too_long(bad(fits + "    x = 1\n")) == ["shared/bad.py:1 fits: 41 lines"]
    assert too_long(bad("x = 1\n" * 701)) == ["shared/bad.py: 701 lines"]


def test_every_public_thing_is_documented():
    assert undocumented() == []


def test_missing_docstrings_are_found_and_private_things_are_free(bad):
    text = '"""One module."""\nclass A:\n    def method(self): ...\n    def _own(self): ...\n'
    text += 'def f():\n    """A function."""\n    def inner(): ...\n'
    assert undocumented(bad(text)) == ["shared/bad.py:2 A", "shared/bad.py:3 method"]
    assert undocumented(bad("x = 1")) == undocumented(bad('"""."""')) == ["shared/bad.py:1 module"]


def test_nothing_dangerous_or_careless_is_called():
    assert dangers() == []


@pytest.mark.parametrize(
    "text",
    [
        "print(1)",
        "eval('1')",
        "import pickle",
        "from pickle import loads",
        "yaml.load(text)",
        "client(verify=False)",
        "run('ls', shell=True)",
        "try: pass\nexcept: pass",
        "try: pass\nexcept Exception: pass",
        "try: pass\nexcept (ValueError, BaseException): pass",
    ],
)
def test_a_dangerous_call_is_found(bad, text):
    assert len(dangers(bad(text))) == 1


def test_a_named_error_and_a_console_are_no_danger(bad):
    assert dangers(bad("try: console.print(1)\nexcept (ValueError, KeyError): get(verify=True)")) == []


def test_a_clean_up_that_raises_on_is_no_catch_all(bad):
    assert dangers(bad("try: go()\nexcept BaseException:\n    stop()\n    raise")) == []


def test_the_environment_is_read_in_settings_only():
    assert environment_readers() == ENVIRONMENT_READERS


@pytest.mark.parametrize("text", ["os.environ['A']", "os.getenv('A')", "from os import path, environ"])
def test_a_read_of_the_environment_is_found_outside_settings(bad, text):
    assert environment_readers(bad(text)) == ["shared/bad.py"]
    assert environment_readers(bad(text, "edge_node/settings.py")) == ["shared/bad.py"]


@pytest.mark.parametrize(("package", "name"), prompt_files())
def test_every_prompt_renders_with_its_fields(package, name):
    prompt = load_prompt(package, name)
    messages = prompt.render(**dict.fromkeys(prompt.fields, "value"))
    assert all(message.content.strip() for message in messages)


def test_a_prompt_with_a_stray_dollar_does_not_render():
    with pytest.raises(ValueError, match="placeholder"):
        PromptFile("bad", "It costs $ 5.").render()


def test_the_import_contracts_are_kept():
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_files_and_no_folders_import_each_other_in_a_circle():
    assert circles(imports()) == []
    assert circles(between_folders(imports())) == []


def test_a_circle_is_found_among_files_and_among_folders(bad):
    bad("from shared.text import late", "shared/early.py")
    files = imports(bad("from shared import early", "shared/text/late.py"))
    assert circles(files) == [{"shared.early", "shared.text.late"}]
    assert circles(between_folders({"a.b.c": {"a.d.e"}, "a.d.f": {"a.b.g"}, "a.d.e": set(), "a.b.g": set()})) == [{"a.b", "a.d"}]


@pytest.mark.parametrize("importer", ["shared.wrong", "cloud_server.wrong"])
def test_an_import_against_the_layers_breaks_a_contract(bad, importer):
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    keys = ("modules", "source_modules", "forbidden_modules")
    named = [module for contract in contracts for key in keys for module in contract.get(key, [])]
    named += [
        f"{container}.{module}"
        for contract in contracts
        for container in contract.get("containers", [])
        for layer in contract["layers"]
        for module in layer.split(" | ")
    ]
    for module in {*PACKAGES, *named}:
        parts = module.split(".")
        for depth in range(1, len(parts) + 1):
            bad("", "/".join([*parts[:depth], "__init__.py"]))
    folder = bad((ROOT / "pyproject.toml").read_text(encoding="utf-8"), "pyproject.toml")
    assert lint_imports(folder).returncode == 0
    bad("import edge_node", importer.replace(".", "/") + ".py")
    assert lint_imports(folder).returncode == 1


def test_no_file_names_a_private_machine():
    assert private_places() == []


def test_a_private_path_and_a_private_host_are_found(bad):
    private = ["a = '/" + "root/x'", "b = 'https://pypi" + ".corp.lan/simple'"]
    assert len(private_places(bad("\n".join([*private, "c = 'docs/" + "work/x'", "d = 'https://example.org/lan'"])))) == 2


def test_every_direct_dependency_has_a_pin_and_a_reason():
    assert unpinned() == []
    assert unexplained() == []


def test_a_dependency_without_a_pin_or_a_reason_is_found(bad):
    bad("httpx2==1\nPy_Pdf==2\n", "constraints.txt")
    bad("| package | why |\n| --- | --- |\n| **edge:** numpy, py-pdf | httpx2 is not meant |\n", "docs/dependencies.md")
    project = """
        [project]
        dependencies = ["httpx2", "numpy>=2; python_version > '3'"]
        [project.optional-dependencies]
        edge = ["py.pdf[x]"]
    """
    root = bad(project, "pyproject.toml")
    assert unpinned(root) == ["numpy"]
    assert unexplained(root) == ["httpx2"]
