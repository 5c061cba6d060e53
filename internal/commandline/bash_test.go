// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bash runs lines with the real bash, in which no program can be found: it reports each command that it would have run.
type bash struct{ path, dir, prelude string }

// handler writes to file descriptor 3 how many words a command has, and the words, with a NUL after each.
const handler = `command_not_found_handle() { printf '%s\0' "$#" "$@" >&3; return 1; }`

func newBash(t testing.TB) *bash {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to compare with")
	}
	if out, err := exec.Command(path, "-c", "echo ${BASH_VERSINFO[0]}").Output(); err != nil || strings.TrimSpace(string(out)) < "5" {
		t.Skip("there is no bash 5 to compare with")
	}
	dir := t.TempDir()
	prelude := filepath.Join(dir, "prelude")
	if err := os.WriteFile(prelude, []byte(handler), 0o600); err != nil {
		t.Fatal(err)
	}
	return &bash{path: path, dir: t.TempDir(), prelude: prelude}
}

// run returns the words of each command that the line runs and that is no builtin.
func (b *bash) run(t testing.TB, line string) [][]string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.path, "-c", "--", line)
	// A function that calls itself is to come to an end, and nothing is to be left of the line.
	cmd.Dir, cmd.Env, cmd.ExtraFiles = b.dir, []string{"PATH=/nonexistent", "BASH_ENV=" + b.prelude, "FUNCNEST=8"}, []*os.File{write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	got := make(chan string, 1)
	go func() {
		var text strings.Builder
		buf := make([]byte, 4096)
		for {
			n, err := read.Read(buf)
			text.Write(buf[:n])
			if err != nil {
				got <- text.String()
				return
			}
		}
	}()
	_ = cmd.Run() // It fails because nothing is found.
	write.Close()
	if err := read.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }()
	var ran [][]string
	fields := strings.Split(<-got, "\x00")
	for len(fields) > 1 {
		n, err := strconv.Atoi(fields[0])
		if err != nil || n < 1 || n >= len(fields) {
			// Two commands of a pipeline wrote at the same time.
			break
		}
		ran, fields = append(ran, fields[1:1+n]), fields[1+n:]
	}
	return ran
}

// safe are the evasions that a real bash may run here: they cannot start a program by its path.
func safe() []string {
	return slices.DeleteFunc(slices.Clone(evasions), func(line string) bool {
		return strings.ContainsAny(line, "/~\x00") || strings.Contains(line, "hash") || strings.Contains(line, "-p ") || strings.Contains(line, "> >(")
	})
}

// TestBashAgrees has the real bash run the evasions. Each command that it runs must be in the list, or the line must be undetermined.
func TestBashAgrees(t *testing.T) {
	t.Parallel()
	b := newBash(t)
	pushed := 0
	for _, line := range safe() {
		ran := b.run(t, line)
		for _, words := range ran {
			if words[0] == "git" && slices.Contains(words, "push") {
				pushed++
				break
			}
		}
		holds(t, line, ran)
	}
	// Else the test has nothing to compare.
	if pushed < 50 {
		t.Errorf("bash pushed for %d lines only", pushed)
	}
}

// holds compares the commands that bash ran with the list of the line.
func holds(t testing.TB, line string, ran [][]string) {
	t.Helper()
	l, err := Parse(line)
	if err != nil {
		return
	}
	for _, words := range ran {
		if words[0] == "git" && slices.Contains(words[1:], "push") && l.Named("git push *") == nil && l.Untold() == nil {
			t.Errorf("bash ran %q for %q, and nothing is found: %s", words, line, summary(l))
		}
		for _, patterns := range allowlists {
			if l.Disallowed(patterns) == "" && !runs(words, patterns) {
				t.Errorf("bash ran %q for %q, which %q allow: %s", words, line, patterns, summary(l))
			}
		}
	}
}

var allowlists = [][]string{
	{"ls *", "echo *", "eval *", "cat *", "read *", "printf *", "true", "f *", "x *", "trap *", "set *", "command *", "env *", "export *", "declare *", "local *", "test *", "[ *", "exec *"},
	{"git status *", "echo", "git * main", "eval *", "a*", "[ *", "printf *", "read *", "true"},
	{"* push", "g*t", "echo *", "ls", "eval *"},
}

// runs reports whether static words match an allowlist.
func runs(words []string, patterns []string) bool {
	c := Command{}
	for _, w := range words {
		c.Words = append(c.Words, static(w))
	}
	l := List{Commands: []Command{c}}
	return l.Disallowed(patterns) == ""
}

// writer writes lines of bash that do no harm, out of numbers.
type writer struct {
	next  func(n int) int
	depth int
}

func (w *writer) pick(of ...string) string { return of[w.next(len(of))] }

func (w *writer) word() string {
	switch w.next(14) {
	case 0:
		return w.pick(`"git"`, `'push'`, `g\it`, `$'\x67it'`, `gi""t`, `pu\`+"\n"+`sh`, `$"git"`, `'git push'`, `"git push"`)
	case 1:
		return w.pick("$x", `"$x"`, "${x}", "$y", `"$y"`, "${x:-git}", `"${y:-push}"`, "$*", `"$@"`, "$#", "${#x}", "${!x}", "${x@P}", "${a[0]}", `"${a[@]}"`)
	case 2:
		return w.pick("{git,push}", "{push,}", "{1..3}", "pu{sh,ll}", "*", "[a]", "~x", "a=b")
	case 3:
		if w.deeper() {
			defer w.shallower()
			return w.pick("$(", `"$(`, "<(", "`")[:0] + w.within()
		}
	case 4:
		return w.pick("-f", "--force", "-C", "--", "-c", "main", "-v", "!", "=", "]", "x", "1")
	case 5:
		return w.pick("#", "#x", "x#", `\#`, `\;`, `\&`, `\$x`, `"\$(git push)"`, `'$(git push)'`, "'a[$(git push)]'", `\`+"`", `"a'b"`, `'a"b'`)
	}
	return w.pick("git", "push", "status", "ls", "echo", "a", "main", "git", "push")
}

func (w *writer) deeper() bool { w.depth++; return w.depth < 4 || !w.up() }

func (w *writer) up() bool { w.depth--; return true }

func (w *writer) shallower() { w.depth-- }

// within is a substitution.
func (w *writer) within() string {
	switch w.next(5) {
	case 0:
		return `"$(` + w.line() + `)"`
	case 1:
		return "<(" + w.line() + ")"
	case 2:
		return "`" + strings.ReplaceAll(w.simple(), "`", "") + "`"
	case 3:
		return "$((1+" + w.pick("1", "x", "$x", "$(echo 1)", "a[0]") + "))"
	}
	return "$(" + w.line() + ")"
}

func (w *writer) simple() string {
	n := 1 + w.next(3)
	list := make([]string, 0, n+1)
	switch w.next(8) {
	case 0:
		list = append(list, w.pick("x=git", "y=push", "x=", "x=$(git push)", "x='git push'", "x='a[$(git push)]'", "a=(git push)", "x+=t", "IFS=u", "PATH=x"))
		if w.next(2) == 0 {
			return list[0]
		}
	case 1:
		list = append(list, w.pick("eval", "command", "builtin", "exec", "eval eval", "trap", "echo", "printf -v x", "read x <<<", "set --", "test", "export", "declare", "env", "!", "time"))
	}
	for range n {
		list = append(list, w.word())
	}
	if w.next(6) == 0 {
		list = append(list, w.pick("2>&1", "</dev/null", "<<<x", "<<< $(git push)", "&>/dev/null", ">/dev/null", "2>/dev/null"))
	}
	return strings.Join(list, w.pick(" ", " ", "  ", "\t", " \\\n"))
}

func (w *writer) line() string {
	if !w.deeper() {
		return "echo"
	}
	defer w.shallower()
	s := w.simple()
	switch w.next(22) {
	case 0:
		return s + w.pick("; ", " && ", " || ", " | ", "\n", " & ", " |& ") + w.line()
	case 1:
		return "(" + s + ")"
	case 2:
		return "{ " + s + "; }"
	case 3:
		return "if " + s + "; then " + w.line() + "\nelse " + w.simple() + "\nfi"
	case 4:
		return "for " + w.pick("x", "y", "PATH") + " in " + w.word() + "; do " + w.line() + "\ndone"
	case 5:
		return "until " + s + "; do " + w.simple() + "; break; done"
	case 6:
		return "case " + w.word() + " in " + w.pick("git", "*", "x|y", "$(git push)") + ") " + s + ";; esac"
	case 7:
		return w.pick("f", "git", "ls") + "() { " + s + "\n}; " + w.line()
	case 8:
		return "cat <<" + w.pick("E", "'E'", "\\E", `"E"`, "$'E'", "-E", "E''") + "\n" + s + "\n" + w.pick("", "\t", "E\\\n") + "E\n" + w.line()
	case 9:
		return "[[ " + w.word() + w.pick(" == ", " =~ ", " -eq ", " < ", " && ") + w.word() + " ]] " + w.pick("&&", "||") + " " + w.simple()
	case 10:
		return "((" + w.pick("1", "x", "x=1", "a[x]", "$x") + ")); " + s
	case 11:
		return "time " + s
	case 12:
		return "! " + s
	case 13:
		return s + " # " + w.simple() + "\n" + w.simple()
	case 14:
		return "!(" + s + ")"
	case 15:
		return "coproc " + s + "\nwait"
	case 16:
		return s + "\r\n" + w.simple()
	}
	return s
}

// written returns a line of a writer, or "" if it could do harm.
func written(next func(n int) int) string {
	line := (&writer{next: next}).line()
	if strings.Contains(strings.ReplaceAll(line, "/dev/null", ""), "/") {
		return ""
	}
	return line
}

// TestBashAgreesOnRandomLines does the same with random lines.
func TestBashAgreesOnRandomLines(t *testing.T) {
	t.Parallel()
	b := newBash(t)
	lines := 400
	if testing.Short() {
		lines = 50
	}
	told, ran := 0, 0
	for i := range lines {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		line := written(r.IntN)
		words := b.run(t, line)
		holds(t, line, words)
		if l, err := Parse(line); err == nil && l.Untold() == nil {
			told++
		}
		ran += len(words)
		if t.Failed() {
			t.Fatalf("line %d", i)
		}
	}
	if told < lines/4 || ran < lines/2 {
		t.Errorf("of %d lines %d were told, and bash ran %d commands", lines, told, ran)
	}
}

// FuzzBash does so with lines that the fuzzer steers.
func FuzzBash(f *testing.F) {
	b := newBash(f)
	for i := range 8 {
		f.Add([]byte(fmt.Sprintf("%d seed of a line, long enough to steer some of it", i)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 0
		line := written(func(n int) int {
			if at++; at > len(data) {
				return 0
			}
			return int(data[at-1]) % n
		})
		holds(t, line, b.run(t, line))
	})
}

// FuzzParse checks that no line panics, or takes long, and that its results are consistent.
func FuzzParse(f *testing.F) {
	for _, line := range evasions {
		f.Add(line, "git push *")
	}
	f.Fuzz(func(t *testing.T, line, pattern string) {
		l, err := Parse(line)
		if err != nil {
			return
		}
		for i := range l.Commands {
			c := &l.Commands[i]
			if (c.Unknown == "") != (len(c.Words) > 0) || len(c.Text) > maxText {
				t.Fatalf("%q gives %+v", line, c)
			}
			for _, w := range c.Words {
				if w.Static && w.Many || !w.Static && w.Text != "" {
					t.Fatalf("%q gives the word %+v", line, w)
				}
			}
		}
		if l.Disallowed(nil) == "" && len(l.Commands) > 0 {
			t.Errorf("nothing is allowed, and %q is", line)
		}
		allowed := l.Disallowed([]string{pattern}) == ""
		if allowed && l.Untold() != nil && l.Untold().Unknown != "" {
			t.Errorf("%q is untold and allowed by %q", line, pattern)
		}
		// A rule for a person's approval finds at least the commands that an allowlist of the same pattern allows.
		if allowed && len(l.Commands) > 0 && pattern != "" && !strings.Contains(pattern, "/") && l.Named(pattern) == nil {
			t.Errorf("%q is allowed by %q, and not named by it: %s", line, pattern, summary(l))
		}
		l.NotHarmless()
	})
}
