"""What was taken of a file is said in one line, and what changes the geometry in further ones."""
import pytest

NUMBERED = "cell_id,x,y\n" + "".join(f"{i},{i * 7 % 11}.5,{i * 3 % 7}\n" for i in range(40))
PERCENT = "a,b,share\n" + "".join(f"{i * 7 % 11}.5,{i * 3 % 7},{i % 9}.5%\n" for i in range(40))
MIXED = PERCENT.replace("8.5%", "8.5 kg")
PEOPLE = "height,weight,age\n" + "".join(f"{150 + i},{50 + 13 * i % 40},{20 + i * i % 17}\n" for i in range(40))
PLAIN = "".join(f"{i},{(i * 7 + 1) % 41}\n" for i in range(40))

LINES = [
    (NUMBERED, ["read as a table of points", "40 rows of 3 columns: 2 coordinates, 1 name (\"cell_id\": counts the rows)",
                "Column 1 (\"cell_id\") counts the rows, so it is no coordinate", "--keep-columns 1"]),
    (PERCENT, ["3 coordinates", "Column 3 (\"share\"): \"0.5%\" is read as 0.5"]),
    (MIXED, ["2 coordinates, 1 label (\"share\")", "Column 3 (\"share\") is no coordinate: \"8.5 kg\" is no number"]),
    ("# made by hand\n" + PEOPLE, ["40 rows of 3 columns: 3 coordinates; 1 comment line"])]


def run(client, command, path):
    return client(*command, str(path))


@pytest.mark.parametrize("text,wanted", LINES, ids=["numbered", "percent", "mixed", "people"])
@pytest.mark.parametrize("command", [
    ["embed", "--local", "--iterations", "10", "--perplexity", "5", "-o", "y.npy"], ["kmeans", "--clusters", "2", "-o", "k.npy"],
    ["gmm", "--components", "2", "-o", "g.npy"], ["sammon", "--iterations", "5", "-o", "s.npy"]], ids=lambda c: c[0])
def test_commands_say_what_they_took(client, tmp_path, command, text, wanted):
    path = tmp_path / "table.csv"
    path.write_text(text)
    done = run(client, command, path)
    assert done.status == 0, done
    for part in wanted:
        assert part in done.err, done
    quiet = run(client, [*command, "--quiet"], path)
    assert quiet.err == ""


def test_two_columns_of_whole_numbers_are_told(client, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(PLAIN)
    done = run(client, ["embed", "--local", "--iterations", "10", "-o", "y.npy"], path)
    assert "read as a graph (whole numbers, without titles)" in done.err and "--kind points reads a table" in done.err, done
    done = run(client, ["embed", "--local", "--kind", "points", "--iterations", "10", "--perplexity", "5", "-o", "y.npy"], path)
    assert "read as a table of points: 40 rows of 2 columns" in done.err, done


def test_the_server_says_the_same(online, tmp_path):
    path = tmp_path / "table.csv"
    for text, wanted in LINES:
        path.write_text(text)
        done = run(online, ["graph", "add"], path)
        assert done.status == 0 and all(part in done.err for part in wanted), done
        shown = online("graph", "show", done.out.strip())
        assert "40 rows of 3 columns: " in shown.out, shown
    path.write_text(NUMBERED)
    done = run(online, ["embed", "--iterations", "10", "--perplexity", "5", "-o", "y.npy"], path)
    assert "Column 1 (\"cell_id\") counts the rows" in done.err, done
    done = run(online, ["graph", "add", "--keep-columns", "cell_id"], path)
    assert "3 coordinates" in done.err and "counts the rows" not in done.err, done


def test_of_a_file_of_labels_too(online, client, tmp_path):
    path, labels = tmp_path / "table.csv", tmp_path / "metadata.csv"
    path.write_text(NUMBERED)
    labels.write_text("cell_id,kind\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(39, 0, -1)) + "77,c\n")
    line = f'{labels}: read as labels: 40 rows of 2 columns: 1 name ("cell_id"), 1 label ("kind"); 1 row left out'
    joined = f'{labels}: labels joined by the nodes\' names in the column "cell_id"'
    for done in (online("graph", "add", path, "--labels", str(labels)), client(
            "embed", path, "--local", "--labels", str(labels), "--iterations", "10", "--perplexity", "5", "-o", "y.npy")):
        assert done.status == 0 and line in done.err and joined in done.err and '"77"' in done.err, done
