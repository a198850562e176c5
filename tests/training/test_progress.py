from mvlvm.training.progress import progress_bar


def test_bar_shows_the_step_and_the_bound(capsys):
    with progress_bar(8, "fitting") as callback:
        callback(5, -1.25)
    shown = capsys.readouterr().out
    assert "fitting" in shown
    assert "5/8" in shown
    assert "bound -1.25" in shown
