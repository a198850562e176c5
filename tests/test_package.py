import subprocess
import sys


def test_importing_the_package_makes_its_subpackages_available():
    code = (
        "import mvlvm\n"
        "mvlvm.datasets.load('digits-halves'), mvlvm.views.read, mvlvm.evaluation.affine_r2, mvlvm.plots.write\n"
        "assert 'datasets' in dir(mvlvm)\n"
        "try:\n"
        "    mvlvm.nothing\n"
        "except AttributeError as error:\n"
        "    assert str(error) == \"module 'mvlvm' has no attribute 'nothing'\"\n"
        "else:\n"
        "    raise AssertionError"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
