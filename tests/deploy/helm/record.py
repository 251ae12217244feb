"""``python -m tests.deploy.helm.record``: write the golden files of the Helm chart anew."""

from tests.deploy.helm.test_chart import GOLDEN, VALUES, golden

if __name__ == "__main__":
    for name, values in VALUES.items():
        (GOLDEN / f"{name}.yaml").write_text(golden(values), encoding="utf-8")
