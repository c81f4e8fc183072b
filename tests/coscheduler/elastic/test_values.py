from __future__ import annotations

from cosched.coscheduler.elastic.values import ElasticSettings, LoanExceptions


def test_a_users_terms_go_before_an_applications_and_these_before_those_of_all() -> None:
    settings = ElasticSettings(
        payback=2.0,
        settle=10.0,
        applications={"render": LoanExceptions(payback=5.0, settle=20.0)},
        users={"ann": LoanExceptions(payback=0.0, lending=False)},
    )
    assert settings.of("other", "bob") == settings
    render = settings.of("render", "bob")
    assert (render.lending, render.payback, render.settle) == (True, 5.0, 20.0)
    both = settings.of("render", "ann")
    assert (both.lending, both.payback, both.settle) == (False, 0.0, 20.0)
