"""A backend that misbehaves in the way its first argument names, when it is asked to run. Its own few lines of the protocol: the helper
would not let it. Programs whose bytes are "good" are always run well: the second program shows that the backend is usable again."""
import json
import os
import signal
import struct
import subprocess
import sys
import time

HOW = sys.argv[1]


def read(n):
    out = b""
    while len(out) < n:
        got = os.read(0, n - len(out))
        if not got:
            os._exit(0)
        out += got
    return out


def raw(data):
    while data:
        data = data[os.write(1, data):]


def prelude(header_bytes, payload_bytes):
    return b"ULPIAN/1" + struct.pack("<QQ", header_bytes, payload_bytes)


def send(header, payload=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    raw(prelude(len(text), len(payload)) + text + payload)


def outputs(request, **changes):
    value = {"name": "y", "type": "f32", "extents": [2], "bytes": 8, **changes}
    return {"type": "outputs", "id": request["id"], "batches": [{"type": "outputs", "values": [value]} for _ in request["batches"]]}


BLOB = struct.pack("<2f", 1.0, 2.0) + bytes(56)


def grow():
    blocks = []
    for _ in range(64):
        blocks.append(bytearray(os.urandom(1 << 20) * 8))
        time.sleep(0.02)
    time.sleep(30)


def misbehave(r):
    if HOW == "crash": os.kill(os.getpid(), signal.SIGSEGV)
    elif HOW == "exit-3": os._exit(3)
    elif HOW == "exit-0": os._exit(0)
    elif HOW == "hang": time.sleep(60)
    elif HOW == "hang-deaf":
        for s in (signal.SIGABRT, signal.SIGTERM, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
        while True: time.sleep(60)
    elif HOW == "flood-stdout":
        while True: raw(b"x" * 65536)
    elif HOW == "flood-stderr":
        os.write(2, b"the beginning\n")
        while True: os.write(2, b"e" * 65535 + b"\n")
    elif HOW == "loud-stderr":
        for _ in range(200): os.write(2, b"w" * 4095 + b"\n")
        send(outputs(r), BLOB)
    elif HOW == "print": raw(b"Hello from a library\n"); time.sleep(60)
    elif HOW == "no-json": send(b"{this is not json")
    elif HOW == "bad-utf8": send(b'{"type": "outputs", "id": 3, "x": "\xff\xfe"}')
    elif HOW == "array-header": send(b"[1, 2]")
    elif HOW == "deep-json": send(b"[" * 1000000)
    elif HOW == "number-overflow": send(b'{"type": "outputs", "id": 1e999, "batches": []}')
    elif HOW == "no-type": send({"id": r["id"]})
    elif HOW == "unknown-type": send({"type": "shrug", "id": r["id"]})
    elif HOW == "wrong-id": send({**outputs(r), "id": 12345}, BLOB)
    elif HOW == "wrong-answer": send({"type": "done", "id": r["id"]})
    elif HOW == "wrong-batches": send({**outputs(r), "batches": []})
    elif HOW == "truncated-header": raw(prelude(100, 0) + b'{"type"'); os._exit(0)
    elif HOW == "truncated-payload": text = json.dumps(outputs(r)).encode(); raw(prelude(len(text), 64) + text + b"1234"); os._exit(0)
    elif HOW == "stalled-frame": raw(prelude(100, 0) + b'{"type"'); time.sleep(60)
    elif HOW == "huge-header": raw(prelude(1 << 60, 0)); time.sleep(60)
    elif HOW == "huge-payload": raw(prelude(10, (1 << 63))); time.sleep(60)
    elif HOW == "lying-payload": raw(prelude(2, 1 << 29) + b"{}"); time.sleep(60)
    elif HOW == "wrong-length": send(outputs(r, bytes=12), BLOB)
    elif HOW == "short-payload": send(outputs(r, extents=[1000], bytes=4000), BLOB)
    elif HOW == "long-payload": send(outputs(r), BLOB + BLOB)
    elif HOW == "huge-extents": send(outputs(r, extents=[1 << 40, 1 << 20]), BLOB)
    elif HOW == "overflowing-extents": send(outputs(r, extents=[1 << 62, 1 << 62]), BLOB)
    elif HOW == "negative-extent": send(outputs(r, extents=[-2]), BLOB)
    elif HOW == "fraction-extent": send(outputs(r, extents=[2.0]), BLOB)
    elif HOW == "no-such-type": send(outputs(r, type="f31"), BLOB)
    elif HOW == "type-Z": send(outputs(r, type="Z"), BLOB)
    elif HOW == "bool-2": send(outputs(r, type="bool", bytes=2), b"\x02\x01" + bytes(62))
    elif HOW == "i4-high-bits": send(outputs(r, type="i4", bytes=2), b"\x0f\xff" + bytes(62))
    elif HOW == "string-lengths": send(outputs(r, type="string", bytes=8), b"\xff\xff\xff\xff\x00\x00\x00\x00" + bytes(56))
    elif HOW == "two-answers":
        text = json.dumps(outputs(r)).encode()
        raw((prelude(len(text), 64) + text + BLOB) * 2)
    elif HOW == "close-stdout": os.close(1); time.sleep(60)
    elif HOW == "close-stdin": os.close(0); time.sleep(60)
    elif HOW == "child-keeps-pipes":
        if os.fork() == 0: time.sleep(60)
        os._exit(5)
    elif HOW == "child-own-group":
        if os.fork() == 0:
            os.setpgid(0, 0)
            sys.stderr.write(f"child {os.getpid()}\n")
            sys.stderr.flush()
            time.sleep(60)
        time.sleep(0.3)
        os._exit(5)
    elif HOW == "child-own-session":  # and no parent: a daemon
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                sys.stderr.write(f"child {os.getpid()}\n")
                sys.stderr.flush()
                time.sleep(60)
            os._exit(0)
        time.sleep(0.3)
        os._exit(5)
    elif HOW == "memory": grow()
    elif HOW == "memory-in-child":
        if os.fork() == 0: grow()
        time.sleep(60)
    elif HOW == "memory-error": send({"type": "failed", "id": r["id"], "cause": "memory", "message": "no room"})
    elif HOW == "refuse": send({"type": "refused", "id": r["id"], "reason": "unsupported", "message": "no such operator"})
    elif HOW == "refuse-oddly": send({"type": "refused", "id": r["id"], "reason": "mood", "message": "no"})
    elif HOW == "fail": os.write(2, b"evidence\n"); send({"type": "failed", "id": r["id"], "message": "internal error"})
    elif HOW == "slow": time.sleep(0.7); send(outputs(r), BLOB)
    elif HOW == "drip":
        text = json.dumps(outputs(r)).encode()
        for b in prelude(len(text), 64) + text + BLOB: raw(bytes([b]))
    elif HOW == "answer-then-exit": send(outputs(r), BLOB); os._exit(7)
    elif HOW == "crash-on-second": pass
    else: sys.exit(f"no such misbehaviour: {HOW}")


def main():
    if HOW == "exit-at-once": os._exit(0)
    if HOW == "exit-without-hello": os.write(2, b"no module named library\n"); sys.exit(4)
    if HOW == "silent": time.sleep(60)
    if HOW == "print-first": raw(b"Welcome!\n"); time.sleep(60)
    programs = {}
    while True:
        _, header_bytes, payload_bytes = struct.unpack("<8sQQ", read(24))
        header, payload = json.loads(read(header_bytes)), read(payload_bytes)
        kind = header["type"]
        if kind == "hello":
            protocol = 2 if HOW == "other-version" else 1
            send({"type": "hello", "id": header["id"], "protocol": protocol, "name": "misbehave", "version": "1", "formats": ["onnx"], "extra": {"a": [1]}})
        elif kind == "prepare":
            programs[header["program"]] = payload[:header["bytes"]]
            if HOW == "crash-in-prepare" and programs[header["program"]] != b"good": os.abort()
            send({"type": "prepared", "id": header["id"]})
        elif kind == "run":
            # The first input of a batch says whether the batch is the bad one, where only one of several is to be.
            bad = any(v["extents"] == [13] for b in header["batches"] for v in b)
            if HOW == "crash-on-batch" and bad: os.kill(os.getpid(), signal.SIGILL)
            if programs[header["program"]] == b"good" or HOW in ("crash-on-batch", "crash-in-prepare"):
                send(outputs(header), BLOB * len(header["batches"]))
            else: misbehave(header)
        else:
            send({"type": "done", "id": header["id"]})
            if kind == "bye": os._exit(0)


main()
