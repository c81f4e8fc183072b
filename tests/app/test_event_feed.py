from __future__ import annotations

import asyncio
import threading

from cosched.app.event_feed import EventFeed, FeedEvent


def task(name: str, word: str = "") -> FeedEvent:
    return FeedEvent("task", name, lambda: word, "me")


def words(found: list[FeedEvent]) -> list[str]:
    return [happening.document() for happening in found]


def test_followers_hear_the_last_word_of_each() -> None:
    async def follow() -> None:
        feed = EventFeed()
        feed.publish([task("0", "before")])
        with feed.follow() as follower:
            assert follower.take() == ([], False)
            feed.publish([task("1", "a"), task("2", "b")])
            feed.publish([task("1", "c")])
            assert await follower.wait(5)
            found, lost = follower.take()
            assert (words(found), lost) == (["c", "b"], False)
            assert not await follower.wait(0.0)

    asyncio.run(follow())


def test_another_thread_wakes_followers() -> None:
    async def follow() -> None:
        feed = EventFeed()
        with feed.follow() as follower:
            follower.take()
            other = threading.Thread(target=feed.publish, args=([task("1", "a")],))
            other.start()
            assert await follower.wait(30)
            assert words(follower.take()[0]) == ["a"]
            other.join()

    asyncio.run(follow())


def test_a_follower_that_was_cut_off_goes_on_where_it_was() -> None:
    async def follow() -> None:
        feed = EventFeed(kept=3)
        with feed.follow() as follower:
            last = follower.identifier
        feed.publish([task("1", "a"), task("2", "b")])
        with feed.follow(last) as again:
            found, lost = again.take()
            assert (again.resumed, words(found), lost) == (True, ["a", "b"], False)
        feed.publish([task("3"), task("4")])
        with feed.follow(last) as late:
            assert late.take()[1]
        for wrong in ("", "x-1", last.partition("-")[0] + "-99", last + "x"):
            with feed.follow(wrong) as new:
                assert not new.resumed

    asyncio.run(follow())


def test_a_feed_has_an_end_and_bounds() -> None:
    async def follow() -> None:
        feed = EventFeed(places=1)
        with feed.follow() as follower:
            follower.take()
            assert feed.full
            feed.close()
            assert await follower.wait(5)
            assert feed.closed
        assert not feed.full

    asyncio.run(follow())
