"""tmp"""
from __future__ import annotations
import hashlib, io, tarfile
from pathlib import Path
import pyarrow as pa
from ..contract.model import ContractModel
from ..contract.trial import TrialRecord
from ..store.documents import read_document
class Parcel(ContractModel):
    trial: str
    data: bytes
    size: int
    digest: str
def pack(folder: Path, shared: Path | None) -> Parcel:
    b = io.BytesIO()
    with tarfile.open(fileobj=b, mode="w") as t:
        t.add(folder, arcname=".")
    raw = b.getvalue()
    data = pa.compress(raw, codec="zstd", asbytes=True)
    return Parcel(trial=folder.name, data=data, size=len(raw), digest=hashlib.sha256(data).hexdigest())
def unpack(parcel: Parcel, folder: Path) -> TrialRecord:
    raw = pa.decompress(parcel.data, decompressed_size=parcel.size, codec="zstd", asbytes=True)
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(raw)) as t:
        t.extractall(folder, filter="data")
    return read_document(folder / "trial.json", TrialRecord, "x")
