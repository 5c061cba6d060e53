// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bytes"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

const (
	// maxAuthority is the most bytes of a URL between // and the next slash.
	maxAuthority = 1024
	// maxName is the most bytes of the name of a variable.
	maxName = 128
	// maxHost is the most bytes of a host name.
	maxHost = 253
)

// hosts finds the hosts of http and https URLs.
func (g *gatherer) hosts(f *File) {
	rest := f.Content
	for {
		i := bytes.IndexByte(rest, ':')
		if i < 0 {
			return
		}
		scheme := schemeBefore(rest[:i])
		rest = rest[i+1:]
		if scheme == "" {
			continue
		}
		// Slashes are escaped in some JSON.
		after, found := bytes.CutPrefix(rest, []byte("//"))
		if !found {
			if after, found = bytes.CutPrefix(rest, []byte(`\/\/`)); !found {
				continue
			}
		}
		if g.domains.full() {
			continue
		}
		for _, authority := range authorities(after) {
			if host := g.host(scheme, authority); host != "" {
				g.domains.add(host, f.Path)
			}
		}
	}
}

// host is mentionedHost with a memory.
func (g *gatherer) host(scheme, authority string) string {
	url := scheme + "://" + authority
	host, known := g.known[url]
	if !known {
		host = mentionedHost(scheme, authority)
		if len(g.known) < maxDistinct {
			g.known[url] = host
		}
	}
	return host
}

// schemeBefore is the scheme that a text ends with, "" if that is none of HTTP.
func schemeBefore(b []byte) string {
	for _, scheme := range []string{"https", "http"} {
		if len(b) >= len(scheme) && bytes.EqualFold(b[len(b)-len(scheme):], []byte(scheme)) {
			return scheme
		}
	}
	return ""
}

// authorities are the possible authorities of a URL, from the text after its slashes. They are the part up to the first character that no
// host has, and the part of that after the last @, since a password can have nearly any character.
func authorities(b []byte) []string {
	end := 0
	for end < len(b) && end < maxAuthority && b[end] > ' ' && strings.IndexByte("/\\?#\"'>`}|^", b[end]) < 0 {
		end++
	}
	b = b[:end]
	list := []string{cutHost(string(b))}
	if i := bytes.LastIndexByte(b, '@'); i >= 0 {
		list = append(list, cutHost(string(b[i+1:])))
	}
	return slices.Compact(list)
}

// cutHost cuts a text at its first punctuation. It returns nothing of a name whose middle a program fills in: such a name cannot be
// determined.
func cutHost(s string) string {
	if i := strings.IndexAny(s, "!$&()*+,;={<"); i >= 0 {
		s = cutAt(s, i)
	}
	if plain, err := url.PathUnescape(s); err == nil {
		s = plain
	} else {
		s = cutAt(s, strings.IndexByte(s, '%'))
	}
	return strings.TrimRight(s, ".:_-")
}

func cutAt(s string, i int) string {
	if strings.IndexByte("$%{<", s[i]) >= 0 && strings.HasSuffix(s[:i], ".") {
		return ""
	}
	return s[:i]
}

// mentionedHost is the host that an authority leads to, with its port if it is not the one of the scheme, "" if it is none or
// stands for another.
func mentionedHost(scheme, authority string) string {
	u, err := url.Parse(scheme + "://" + authority)
	if err != nil {
		return ""
	}
	host, port := strings.TrimRight(strings.ToLower(u.Hostname()), "."), u.Port()
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.IsLoopback() || ip.IsUnspecified() {
			return ""
		}
		if host = ip.String(); ip.Is6() {
			host = "[" + host + "]"
		}
	} else if host, err = idna.ToASCII(host); err != nil || !plainHost(host) || placeholder(host) {
		return ""
	}
	if port == "" || len(port) > len("65535") || scheme == "https" && port == "443" || scheme == "http" && port == "80" {
		return host
	}
	return host + ":" + port
}

// plainHost reports whether a text has only what names in DNS have.
func plainHost(s string) bool {
	return s != "" && len(s) <= maxHost && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	}) < 0
}

var (
	// placeholders are hosts that documents write where the reader's own belongs.
	placeholders = []string{
		"localhost", "host", "hostname", "server", "domain", "example.com", "example.org", "example.net", "example.edu",
		"your-server.com", "your-domain.com", "yourdomain.com", "your-company.com", "yourcompany.com", "your-app.com", "your-api.com",
		"your-host.com", "your-site.com", "yoursite.com", "my-server.com", "mydomain.com",
	}
	// reservedSuffixes are the suffixes of names that cannot be registered (RFC 2606). The .test suffix is not among them: people use it for
	// trials.
	reservedSuffixes = []string{
		".example.com", ".example.org", ".example.net", ".example.edu", ".localhost", ".example", ".invalid",
	}
)

func placeholder(host string) bool {
	return slices.Contains(placeholders, host) ||
		slices.ContainsFunc(reservedSuffixes, func(s string) bool { return strings.HasSuffix(host, s) })
}

// environment finds the variables of the environment that are read.
func (g *gatherer) environment(f *File) {
	for _, p := range variablePatterns {
		after(f.Content, p.anchor, func(_, rest []byte) { g.variable(p.name(rest), f.Path) })
	}
	after(f.Content, "VAULT_", func(before, rest []byte) {
		if n := nameLength(rest); n > 0 && (len(before) == 0 || !inName(before[len(before)-1])) {
			g.variable("VAULT_"+string(rest[:n]), f.Path)
		}
	})
	after(f.Content, "<credential:", func(_, rest []byte) {
		if name := identifier(rest); name != "" && bytes.HasPrefix(rest[len(name):], []byte(">")) {
			g.variable(strings.ToUpper(name), f.Path)
		}
	})
	shellParts(f, func(part []byte) {
		after(part, "$", func(_, rest []byte) {
			if braced, ok := bytes.CutPrefix(rest, []byte("{")); ok {
				rest = bytes.TrimLeft(braced[:min(len(braced), 2*maxName)], "!#")
			}
			// Variables of the script itself are in lower case.
			if len(rest) > 0 && inName(rest[0]) && !slices.ContainsFunc(rest[:nameLength(rest)], isLower) {
				g.variable(identifier(rest), f.Path)
			}
		})
	})
}

// variablePatterns return the name of a variable after a text, "" if there is none.
var variablePatterns = []struct {
	anchor string
	name   func(rest []byte) string
}{
	{"process.env", func(rest []byte) string {
		rest = bytes.TrimPrefix(rest, []byte("?"))
		if name, ok := bytes.CutPrefix(rest, []byte(".")); ok && !bytes.HasPrefix(name, []byte("[")) {
			return identifier(name)
		}
		return quotedName(bytes.TrimPrefix(rest, []byte(".")), "[")
	}},
	{"os.environ", func(rest []byte) string {
		if name := quotedName(rest, "["); name != "" {
			return name
		}
		return quotedName(rest, ".get(")
	}},
	{"os.getenv", func(rest []byte) string { return quotedName(rest, "(") }},
}

// after calls found with the texts before and behind each occurrence of a text.
func after(content []byte, anchor string, found func(before, rest []byte)) {
	for at := 0; ; {
		i := bytes.Index(content[at:], []byte(anchor))
		if i < 0 {
			return
		}
		found(content[:at+i], content[at+i+len(anchor):])
		at += i + len(anchor)
	}
}

// quotedName is the name in quotes that stands after an opening.
func quotedName(rest []byte, opening string) string {
	rest, ok := bytes.CutPrefix(rest, []byte(opening))
	if !ok {
		return ""
	}
	rest = bytes.TrimLeft(rest[:min(len(rest), 2*maxName)], " \t\r\n")
	if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' && rest[0] != '`' {
		return ""
	}
	name := identifier(rest[1:])
	if !bytes.HasPrefix(rest[1+len(name):], rest[:1]) {
		return ""
	}
	return name
}

// identifier is the name that a text begins with, "" if it is none or has more than maxName bytes.
func identifier(b []byte) string {
	n := nameLength(b)
	if n == 0 || b[0] >= '0' && b[0] <= '9' {
		return ""
	}
	return string(b[:n])
}

// nameLength is how many bytes of a name a text begins with, 0 if they are more than maxName.
func nameLength(b []byte) int {
	n := 0
	for n < len(b) && n <= maxName && inName(b[n]) {
		n++
	}
	if n > maxName {
		return 0
	}
	return n
}

func inName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || isLower(c)
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

func (g *gatherer) variable(name, path string) {
	if name == "" || g.variables.full() {
		return
	}
	if strings.Trim(name, "_") != "" && !wellKnown[strings.ToUpper(name)] {
		g.variables.add(name, path)
	}
}

// wellKnown are variables that are no credentials: of shells, of the system, and of proxies.
var wellKnown = setOf("NODE_ENV", "NODE_PATH", "NODE_OPTIONS", "PYTHONPATH", "VIRTUAL_ENV", "HOME", "PATH", "USER", "USERNAME", "LOGNAME", "SHELL", "PWD", "OLDPWD",
	"TMPDIR", "TMP", "TEMP", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "HOSTNAME", "HOSTTYPE", "OSTYPE", "EDITOR", "VISUAL", "PAGER", "COLUMNS", "LINES",
	"CI", "DEBUG", "NO_COLOR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "IFS", "RANDOM", "SECONDS",
	"UID", "EUID", "PPID", "OPTARG", "OPTIND", "REPLY", "PIPESTATUS", "FUNCNAME", "LINENO", "PS1", "PS2", "PS4", "SHLVL", "BASH", "BASHPID", "BASH_SOURCE",
	"BASH_VERSION", "BASH_REMATCH", "BASH_LINENO", "DIRSTACK", "GROUPS", "MACHTYPE")

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}
