"""Built kernels: which one is found, and what is said where there is none."""

import shutil
from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.kernels import cache
from nashbed.controlplane.machine.kernels.cache import (
    RECIPE,
    built_kernels,
    find_kernel,
    kernel_cache,
    recipe_digest,
)
from nashbed.controlplane.machine.paths import UML
from tests.support.cached_kernels import put_kernel
from tests.support.kernel_source import EDITS


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return kernel_cache()


def test_none_is_built() -> None:
    assert built_kernels() == []
    with pytest.raises(HostError) as none:
        find_kernel()
    assert none.value.message == "no kernel for virtual time is built: run `make virtual`"
    with pytest.raises(HostError) as other:
        find_kernel("6.12.3")
    assert other.value.message == (
        "no kernel 6.12.3 for virtual time is built: run `make virtual KERNEL=6.12`"
    )


def test_the_usual_one_is_61_or_else_the_newest() -> None:
    put_kernel("6.12.9")
    put_kernel("7.3.4")
    put_kernel("5.10.200")
    assert [kernel.release for kernel in built_kernels()] == ["7.3.4", "6.12.9", "5.10.200"]
    assert find_kernel().release == "7.3.4"
    put_kernel("6.1.176")
    found = find_kernel()
    assert (found.release, found.package) == ("6.1.176", "linux-source 1")
    assert "6.1.176" in found.binary.read_text()


def test_one_is_found_by_the_first_numbers_of_its_release() -> None:
    for release in ("6.1.176", "6.12.117", "6.12.95"):
        put_kernel(release)
    assert find_kernel("6.1").release == "6.1.176"
    assert find_kernel("6.12").release == "6.12.117"
    assert find_kernel("6.12.95").release == "6.12.95"
    with pytest.raises(HostError, match=r"no kernel 6\.2 for"):
        find_kernel("6.2")


def test_the_kernel_of_an_installed_distribution_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put_kernel("6.1.176")
    shipped = tmp_path / "build" / "kernels" / folder.name
    shipped.parent.mkdir(parents=True)
    shutil.move(folder, shipped)
    assert built_kernels() == []
    monkeypatch.setattr(cache, "SHIPPED_KERNELS", shipped.parent)
    assert find_kernel().folder == shipped


def test_who_has_no_checkout_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_kernel("6.1.176")
    monkeypatch.setattr(cache, "IS_INSTALLED", True)
    assert cache.make_command("") == "nashbed kernel build"
    assert cache.make_command("6.12.3") == "nashbed kernel build 6.12"
    monkeypatch.setattr(cache, "UML", tmp_path / "none")
    with pytest.raises(HostError, match=r"is built: run `pip install nashbed_kernel-\*\.whl`"):
        find_kernel()


def test_one_of_another_recipe_is_not_used() -> None:
    put_kernel("6.1.176", digest="0" * 64)
    assert built_kernels() == []
    with pytest.raises(HostError, match=r"6\.1\.176 .* other edits.*run `make virtual`"):
        find_kernel()


def test_a_program_that_has_changed_is_refused() -> None:
    folder = put_kernel("6.1.176")
    find_kernel()
    (folder / "linux").write_text("another kernel")
    with pytest.raises(HostError, match=r"linux: is damaged: .*; run .*KERNEL=6\.1`"):
        find_kernel()
    (folder / "linux").unlink()
    with pytest.raises(HostError, match=r"linux: is missing; run .*KERNEL=6\.1`"):
        find_kernel()


def test_what_is_no_kernel_is_passed_over(empty_cache: Path) -> None:
    put_kernel("6.1.176")
    (put_kernel("6.12.1") / "kernel.json").write_text("{}")
    put_kernel("7.3.4").rename(empty_cache / ".7.3.4-0123456789ab.0123abcd.tmp")
    assert [kernel.release for kernel in built_kernels()] == ["6.1.176"]


def test_the_digest_is_that_of_source_and_recipe(tmp_path: Path) -> None:
    copy = tmp_path / "uml"
    copy.mkdir()
    for name in RECIPE:
        shutil.copy(UML / name, copy)
    digest = recipe_digest("linux-source-6.1 6.1.176-1", copy)
    assert digest == recipe_digest("linux-source-6.1 6.1.176-1")
    assert digest != recipe_digest("linux-source-6.1 6.1.177-1")
    for name in RECIPE:
        before = (copy / name).read_bytes()
        (copy / name).write_bytes(before + b"\n")
        assert recipe_digest("linux-source-6.1 6.1.176-1", copy) != digest, name
        (copy / name).write_bytes(before)


def test_the_recipe_has_every_file_that_goes_into_the_kernel() -> None:
    of_the_kernel = {"edits.py", "kernel.config", *EDITS.DRIVER}
    assert set(RECIPE) == of_the_kernel
    assert of_the_kernel == {path.name for path in UML.glob("[!.]*.*") if path.suffix != ".md"}


def test_the_cache_is_in_the_users_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernel_cache() == tmp_path / "cache" / "nashbed" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kernel_cache() == tmp_path / ".cache" / "nashbed" / "kernels"
