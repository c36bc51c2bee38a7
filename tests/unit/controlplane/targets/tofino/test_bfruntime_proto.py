"""The wire format of BfRt: our description has the public protocol's numbers, and is compiled."""

from pathlib import Path

import grpc_tools
import pytest
from grpc_tools import protoc
from nashbed.controlplane.targets.tofino import bfruntime_pb2 as pb
from nashbed.controlplane.targets.tofino.info import Field

FOLDER = Path(__file__).resolve().parents[5] / "controlplane" / "targets" / "tofino"

# Of the public bfruntime.proto (SDE 9.13): what interoperation rests on.
NUMBERS = {
    "WriteRequest": {"target": 1, "client_id": 2, "updates": 3, "p4_name": 5},
    "ReadRequest": {"target": 1, "client_id": 2, "entities": 3, "p4_name": 4},
    "ReadResponse": {"entities": 1, "status": 2},
    "TargetDevice": {"device_id": 1, "pipe_id": 2},
    "Update": {"type": 1, "entity": 2},
    "Entity": {"table_entry": 1},
    "TableEntry": {"table_id": 1, "key": 2, "data": 3, "is_default_entry": 4, "entry_tgt": 8,
                   "table_flags": 9},
    "TableFlags": {"from_hw": 1},
    "TableKey": {"fields": 1},
    "KeyField": {"field_id": 1, "exact": 2},
    "TableData": {"action_id": 1, "fields": 2},
    "DataField": {"field_id": 1, "stream": 2, "str_val": 4, "int_arr_val": 5, "bool_val": 8},
    "StreamMessageRequest": {"client_id": 1, "subscribe": 2},
    "StreamMessageResponse": {"subscribe": 1},
    "Subscribe": {"device_id": 2, "status": 4},
    "SetForwardingPipelineConfigRequest": {"device_id": 1, "client_id": 2, "action": 3,
                                           "config": 6},
    "GetForwardingPipelineConfigRequest": {"device_id": 1, "client_id": 2},
    "GetForwardingPipelineConfigResponse": {"config": 1, "non_p4_config": 2},
    "ForwardingPipelineConfig": {"p4_name": 1, "bfruntime_info": 2},
    "NonP4Config": {"bfruntime_info": 1},
    "Error": {"canonical_code": 1, "message": 2},
}  # fmt: skip


@pytest.mark.parametrize("message", NUMBERS)
def test_numbers_are_the_public_protocols(message: str) -> None:
    described = pb.DESCRIPTOR.message_types_by_name[message]
    assert {f.name: f.number for f in described.fields} == NUMBERS[message]


def test_updates_and_methods_are_the_public_protocols() -> None:
    kinds = {"UNSPECIFIED": 0, "INSERT": 1, "MODIFY": 2, "DELETE": 4, "INSERT_OR_MODIFY": 5}
    assert dict(pb.Update.Type.items()) == kinds
    service = pb.DESCRIPTOR.services_by_name["BfRuntime"]
    assert service.full_name == "bfrt_proto.BfRuntime"
    assert {m.name for m in service.methods} == {
        "Write",
        "Read",
        "SetForwardingPipelineConfig",
        "GetForwardingPipelineConfig",
        "StreamChannel",
    }


def test_bytes_on_the_wire() -> None:
    """One update, byte by byte, by hand."""
    entry = pb.TableEntry(table_id=5)
    entry.key.fields.append(Field(1, "port", "whole", bits=9).exact(300))
    entry.data.fields.append(Field(2, "on", "bool").data(True))
    assert entry.SerializeToString() == bytes.fromhex(
        "0805"  # 1: table_id 5
        "120a 0a08 0801 1204 0a02 012c"  # 2: key, its field 1, exact, two bytes: 300
        "1a06 1204 0802 4001"  # 3: data, its field 2, bool_val
    )


def test_generated_code_is_fresh(tmp_path: Path) -> None:
    known = Path(grpc_tools.__file__).parent / "_proto"
    out = [f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    arguments = [f"-I{FOLDER}", f"-I{known}", *out]
    assert protoc.main(["protoc", *arguments, str(FOLDER / "bfruntime.proto")]) == 0
    for name in ("bfruntime_pb2.py", "bfruntime_pb2.pyi"):
        assert (tmp_path / name).read_text() == (FOLDER / name).read_text(), "run `make proto`"
