"""The two sockets: requests are pulled from one, answers published on the other. The one place where pyzmq is imported."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import zmq
import zmq.asyncio

from plume.core.errors import PlumeError

VERSIONS = {"zmq_version": zmq.zmq_version(), "pyzmq_version": zmq.pyzmq_version()}
_SUBSCRIBED = 1  # the first byte of what a subscriber's socket tells; the topic follows
_ANSWERS = 10_000  # that wait for a client that does not read them
_LINGER = 5_000  # milliseconds in which the last answers leave


class OldWireSockets:
    """Belongs to one event loop. A publisher sends into the void until its subscriber is there: so who listens is kept."""

    def __init__(self, host: str, port_in: int, port_out: int, *, message_bytes: int) -> None:
        self._context = zmq.asyncio.Context()
        self._requests = self._context.socket(zmq.PULL)
        self._answers = self._context.socket(zmq.XPUB)
        self._requests.setsockopt(zmq.MAXMSGSIZE, message_bytes)
        self._answers.setsockopt(zmq.SNDHWM, _ANSWERS)
        self._answers.setsockopt(zmq.XPUB_NODROP, 1)  # says so when a client's answers pile up
        self._answers.setsockopt(zmq.XPUB_VERBOSER, 1)  # tells of every subscriber, not only of the first and last to a topic
        self._listeners: Counter[bytes] = Counter()  # now
        self._came: Counter[bytes] = Counter()  # so far, to the topics of those
        self._asked: Counter[bytes] = Counter()  # how many clients of an identity have asked
        self._listening = asyncio.Condition()
        try:
            self.port_in, self.port_out = _bind(self._requests, host, port_in), _bind(self._answers, host, port_out)
        except BaseException:
            self._context.destroy(linger=0)
            raise

    async def request(self) -> list[bytes]:
        """The next one."""
        frames: list[bytes] = await self._requests.recv_multipart()
        return frames

    async def answer(self, frames: Sequence[bytes]) -> bool:
        """To all that listen for the first frame; False if that client does not read."""
        try:
            await self._answers.send_multipart(frames, flags=zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    async def watch(self) -> None:
        """Keep who listens, for ever."""
        while True:
            told: bytes = await self._answers.recv()
            topic = told[1:]
            async with self._listening:
                if told[0] == _SUBSCRIBED:
                    self._listeners[topic] += 1
                    self._came[topic] += 1
                else:
                    self._listeners[topic] -= 1
                if self._listeners[topic] <= 0:
                    for kept in (self._listeners, self._came, self._asked):
                        kept.pop(topic, None)
                self._listening.notify_all()

    def listens(self, identity: bytes) -> bool:
        """Is somebody there who would hear it? Subscriptions are to whatever begins with their topic."""
        return identity in self._listeners or any(identity.startswith(one) for one in self._listeners)

    async def listener(self, identity: bytes, *, first: bool, seconds: float) -> bool:
        """Wait until a client listens for its answer; False if it does not.

        A first request may overtake its client's subscription, and what is published meanwhile is lost to it. Clients that share an identity
        cannot be told apart, but each has one first request and one subscription.
        """
        self._asked[identity] += first
        clients = self._asked[identity]
        try:
            async with asyncio.timeout(seconds), self._listening:
                await self._listening.wait_for(lambda: self._came[identity] >= clients if clients > 1 else self.listens(identity))
        except TimeoutError:
            self._asked.pop(identity, None)
            return self.listens(identity)
        return True

    def close(self) -> None:
        """What was answered is still sent, in a thread of the library."""
        self._requests.close(linger=0)
        self._answers.close(linger=_LINGER)
        self._context.term()


def _bind(own: zmq.asyncio.Socket, host: str, port: int) -> int:
    address = f"tcp://{f'[{host}]' if ':' in host else host}"
    if ":" in host:
        own.setsockopt(zmq.IPV6, 1)
    try:
        if port == 0:
            return int(own.bind_to_random_port(address))
        own.bind(f"{address}:{port}")
    except zmq.ZMQError as error:
        raise PlumeError(f"Port {port} of {host} cannot be used: {error.strerror}. Choose others with --port-in and --port-out.") from None
    return port
