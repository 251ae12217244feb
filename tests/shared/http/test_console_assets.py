"""What the console serves of other people is what they released: by hash, and with their licences."""

from hashlib import sha256

import pytest

from shared.http.console.pages import asset, asset_path

VENDORED = {
    "htmx.min.js": "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",  # htmx 4.0.1
    "cytoscape.min.js": "9c2a3bf2592e0b14a1f7bec07c03a54f16dedf32af9cd0af155c716aa6c87bc3",  # cytoscape 3.34.0
}


@pytest.mark.parametrize("name", VENDORED)
def test_a_vendored_script_is_the_released_one_and_its_address_names_it(name):
    assert sha256(asset(name)).hexdigest() == VENDORED[name]
    assert asset_path(name).endswith(VENDORED[name][:12])
    assert name in asset("LICENSES.txt").decode()


@pytest.mark.parametrize("name", ["../pages.py", "..", "", "nothing.js"])
def test_only_files_of_the_folder_are_assets(name):
    assert asset(name) is None
