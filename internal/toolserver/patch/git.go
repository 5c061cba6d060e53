// SPDX-License-Identifier: Apache-2.0

package patch

import "strings"

// gitHeader reads the header that git diff writes. It is read to its end even if it has a problem: its remainder would be taken for the
// header of another file.
func (r *reader) gitHeader() {
	g := gitHeader{line: strings.TrimRight(r.line(0)[len("diff --git "):], "\r\n")}
	begin := r.at
	var problem error
	for r.at++; r.at < len(r.lines); r.at++ {
		line := strings.TrimRight(r.line(0), "\r\n")
		if strings.HasPrefix(line, "--- ") && (g.hasOld || !g.mentions(line) || !g.mentions(r.line(1))) {
			break // The header of another file, as diff -u writes it.
		}
		known, err := g.read(line)
		if err != nil && problem == nil {
			problem = r.errorf("%v", err)
		}
		if !known {
			break
		}
	}
	f, err := g.file()
	if err != nil {
		f = &File{label: g.line}
		if problem == nil {
			problem = unclearf("Line %d: %v", begin+1, err)
		}
	}
	f.git, f.Problem = true, problem
	r.add(f)
}

// gitHeader is the content of such a header.
type gitHeader struct {
	line                     string // names of the first line
	old, made                string // of --- and +++
	oldNever, madeNever      bool
	hasOld, hasMade          bool
	from, to                 string // of rename and copy
	created, deleted, copied bool
	executable               bool
}

// read takes one line in, if it is one of the header.
func (g *gitHeader) read(line string) (known bool, err error) {
	word, rest := line, ""
	for _, mark := range []string{
		"--- ", "+++ ", "old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity index ", "dissimilarity index ", "index ",
		"rename from ", "rename to ", "copy from ", "copy to ",
	} {
		if after, ok := strings.CutPrefix(line, mark); ok {
			word, rest = mark, after
			break
		}
	}
	switch word {
	case "--- ":
		g.hasOld = true
		g.old, g.oldNever, err = headerName(line)
	case "+++ ":
		g.hasMade = true
		g.made, g.madeNever, err = headerName(line)
	case "old mode ", "new mode ":
		err = unclear("the permissions of a file cannot be patched. Leave the lines out that begin with \"old mode\" and \"new mode\", and change the permissions with chmod.")
	case "new file mode ":
		g.created = true
		g.executable, err = fileMode(rest)
	case "deleted file mode ":
		g.deleted = true
		_, err = fileMode(rest)
	case "rename from ", "copy from ":
		g.copied = word == "copy from "
		g.from, err = plainOrQuoted(rest)
	case "rename to ", "copy to ":
		g.to, err = plainOrQuoted(rest)
	case "similarity index ", "dissimilarity index ", "index ":
	default:
		return false, nil
	}
	return true, err
}

// mentions reports whether the name in a line "--- PATH" or "+++ PATH" is one of the first line, or that of no file.
func (g *gitHeader) mentions(line string) bool {
	if len(line) < len("--- ") {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimRight(line[len("--- "):], "\r\n"), "\t")
	return name == DevNull || strings.Contains(g.line, name)
}

// fileMode reads the mode of a file that is made or removed.
func fileMode(mode string) (executable bool, err error) {
	switch mode {
	case "100644", "100755":
		return mode == "100755", nil
	case "120000":
		return false, unclear("symbolic links cannot be patched. They are made with ln, and removed with rm.")
	}
	return false, unclearf("the mode %s is not that of a file. It is 100644, or 100755 for a program.", shownName(mode))
}

func plainOrQuoted(text string) (string, error) {
	if strings.HasPrefix(text, `"`) {
		name, _, err := quotedName(text)
		return name, err
	}
	if text == "" {
		return "", unclear("a name is missing.")
	}
	return text, nil
}

// file interprets the header.
func (g *gitHeader) file() (*File, error) {
	if g.from != "" || g.to != "" {
		return g.moved()
	}
	if g.hasOld != g.hasMade {
		return nil, unclear(`The file header has one of the lines "--- a/PATH" and "+++ b/PATH" without the other.`)
	}
	from, to, err := g.names()
	if err != nil {
		return nil, err
	}
	f := &File{From: from, To: to, Executable: g.executable}
	created, deleted := g.created || g.oldNever, g.deleted || g.madeNever
	switch {
	case created && deleted:
		return nil, unclear("A file is made or removed, and not both at once.")
	case from != to:
		return nil, unclearf(`The names %s and %s differ. To rename a file write the lines "rename from OLD" and "rename to NEW".`, shownName(from), shownName(to))
	case created:
		f.From = ""
	case deleted:
		f.To = ""
	}
	return f, nil
}

// moved is the file of a header that has the lines of a rename or copy, which name it without prefixes.
func (g *gitHeader) moved() (*File, error) {
	never := g.created || g.deleted || g.oldNever || g.madeNever
	if g.from == "" || g.to == "" || g.from == g.to || never {
		return nil, unclear(`A rename or copy is the two lines "rename from OLD" and "rename to NEW", with two names for one file.`)
	}
	return &File{From: g.from, To: g.to, Copied: g.copied}, nil
}

// names are the names of both sides without prefixes. A missing name is that of the other side, and the first line determines which
// prefixes there are.
func (g *gitHeader) names() (from, to string, err error) {
	firstFrom, firstTo, err := namesOfGitLine(g.line)
	switch from, to = g.old, g.made; {
	case !g.hasOld && err != nil:
		return "", "", err
	case !g.hasOld:
		from, to = firstFrom, firstTo
	case g.oldNever && err == nil:
		from = firstFrom
	case g.oldNever:
		from = "a/" + strings.TrimPrefix(to, "b/")
	case g.madeNever && err == nil:
		to = firstTo
	case g.madeNever:
		to = "b/" + strings.TrimPrefix(from, "a/")
	}
	from, to = dropPrefixes(from, to)
	return from, to, nil
}

// namesOfGitLine takes the two names apart that follow "diff --git". They are the same except for their prefixes.
func namesOfGitLine(line string) (from, to string, err error) {
	unknown := unclearf("the names in \"diff --git %s\" cannot be told apart. Write the lines \"--- a/PATH\" and \"+++ b/PATH\" after it.", shownName(line))
	if strings.HasPrefix(line, `"`) {
		from, rest, err := quotedName(line)
		if err != nil {
			return "", "", err
		}
		to, err := plainOrQuoted(strings.TrimLeft(rest, " "))
		return from, to, err
	}
	half := len(line) / 2
	if len(line)%2 == 0 || line[half] != ' ' {
		return "", "", unknown
	}
	from, to = line[:half], line[half+1:]
	if cutFrom, cutTo := dropPrefixes(from, to); cutFrom != cutTo {
		return "", "", unknown
	}
	return from, to, nil
}
