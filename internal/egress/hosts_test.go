// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestHostSpellings(t *testing.T) {
	long := strings.Repeat("a.", 121) + "example.org" // 253 characters
	for name, target := range map[string]string{
		"trailing dot":         "example.org.:443",
		"two dots":             "example..org:443",
		"leading dot":          ".example.org:443",
		"NUL":                  "example.org\x00.evil.test:443",
		"CR LF":                "example.org\r\nX: y:443",
		"CR":                   "example.org\r:443",
		"LF":                   "example.org\n:443",
		"tab":                  "example.org\t:443",
		"percent encoded dot":  "example%2eorg:443",
		"percent encoded NUL":  "example.org%00:443",
		"brackets":             "[example.org]:443",
		"userinfo":             "example.org@evil.test:443",
		"userinfo, turned":     "evil.test@example.org:443",
		"backslash":            `example.org\evil.test:443`,
		"slash":                "example.org/evil.test:443",
		"fragment":             "evil.test#example.org:443",
		"query":                "evil.test?.example.org:443",
		"unicode":              "exämple.org:443",
		"fullwidth":            "ｅxample.org:443",
		"ideographic full dot": "example。org:443",
		"false punycode":       "xn--example-.org:443",
		"127.0.0.1":            "127.0.0.1:443",
		"127.1":                "127.1:443",
		"decimal":              "2130706433:443",
		"hexadecimal":          "0x7f000001:443",
		"hexadecimal parts":    "0x7f.0.0.1:443",
		"octal":                "0177.0.0.1:443",
		"octal, one number":    "017700000001:443",
		"IPv6":                 "[::1]:443",
		"mapped":               "[::ffff:127.0.0.1]:443",
		"IPv6 with zone":       "[fe80::1%25eth0]:443",
		"254 characters":       "b" + long + ":443",
		"single label":         "localhost:443",
		"cluster name":         "kubernetes.default.svc.cluster.local:443",
		"empty":                ":443",
		"underscore":           "_x.example.org:443",
		"no port":              "example.org",
		"empty port":           "example.org:",
		"port 0":               "example.org:0",
		"port 65536":           "example.org:65536",
		"port 443 + 65536":     "example.org:65979",
		"zero before the port": "example.org:0443",
		"sign":                 "example.org:+443",
		"two ports":            "example.org:443:80",
		"name of a port":       "example.org:https",
		"scheme":               "https://example.org:443",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.allow("example.org", "*.example.org", "*.evil.example")
			w.names.is("example.org", []netip.Addr{public})
			for _, request := range []string{
				"CONNECT " + target + " HTTP/1.1\r\nHost: example.org:443\r\n" + authorization(token()) + "\r\n",
				"GET http://" + target + "/ HTTP/1.1\r\nHost: example.org\r\n" + authorization(token()) + "\r\n",
			} {
				if a := w.raw(request); a.status < 400 {
					t.Errorf("%q: %s", request, a.phrase)
				}
			}
			w.nothingLeft()
		})
	}
}

func TestUpperCaseIsTheSameHost(t *testing.T) {
	w := newWorld(t, nil)
	w.allow("example.org")
	w.names.is("example.org", []netip.Addr{public})
	w.site("93.184.216.34:443", says("here"))
	c := w.tunnel("EXAMPLE.org:443")
	if got := get(t, c.secure("example.org"), "example.org", "/"); got != "here" {
		t.Errorf("got %q", got)
	}
	if q := w.names.questions(); len(q) != 1 || q[0] != "example.org." {
		t.Errorf("asked %q", q)
	}
}

func TestRules(t *testing.T) {
	for name, tc := range map[string]struct {
		rules  []string
		target string
		ok     bool
	}{
		"exact":                                   {[]string{"example.com"}, "example.com:443", true},
		"evil-example.com against exact":          {[]string{"example.com"}, "evil-example.com:443", false},
		"evil-example.com against wildcard":       {[]string{"*.example.com"}, "evil-example.com:443", false},
		"evilexample.com against wildcard":        {[]string{"*.example.com"}, "evilexample.com:443", false},
		"example.com.evil.test":                   {[]string{"example.com", "*.example.com"}, "example.com.evil.test:443", false},
		"below against exact":                     {[]string{"example.com"}, "a.example.com:443", false},
		"below against wildcard":                  {[]string{"*.example.com"}, "a.example.com:443", true},
		"two below against wildcard":              {[]string{"*.example.com"}, "a.b.example.com:443", true},
		"apex against wildcard":                   {[]string{"*.example.com"}, "example.com:443", false},
		"other port":                              {[]string{"example.com"}, "example.com:8443", false},
		"port of the rule":                        {[]string{"example.com:8443"}, "example.com:8443", true},
		"standard port against rule with another": {[]string{"example.com:8443"}, "example.com:443", false},
		"ssh":      {[]string{"example.com"}, "example.com:22", false},
		"port 80":  {[]string{"example.com"}, "example.com:80", false},
		"no rules": {nil, "example.com:443", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.allow(tc.rules...)
			host, _, _ := strings.Cut(tc.target, ":")
			w.names.is(host, []netip.Addr{public})
			a := w.raw(connectTo(tc.target))
			if tc.ok {
				if a.status != http.StatusOK {
					t.Errorf("%s %s", a.phrase, a.body)
				}
				return
			}
			if a.status != http.StatusForbidden || a.reason != "domain_not_allowed" {
				t.Errorf("%s, %s", a.phrase, a.reason)
			}
			w.nothingLeft()
		})
	}
}

func TestDeniedAnswer(t *testing.T) {
	w := newWorld(t, nil)
	w.allow("example.org")
	a := w.raw(connectTo("evil.test:443"))
	if a.phrase != "403 Domain evil.test:443 is not allowed" || a.header.Get("Content-Type") != "application/json" ||
		a.header.Get("Proxy-Status") != `motorcortex; error=http_request_denied; details="domain_not_allowed"` {
		t.Errorf("%s %v", a.phrase, a.header)
	}
	var body struct{ Error, Domain, Message string }
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatal(err)
	}
	if body.Error != "domain_not_allowed" || body.Domain != "evil.test:443" || !strings.Contains(body.Message, "request_domain") {
		t.Errorf("%+v", body)
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(w.log.String()), &line); err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]any{
		"msg": "egress", "run": "a-run", "namespace": "agents", "pod": "a-run-motor-sandbox", "uid": runUID, "host": "evil.test",
		"port": 443.0, "verdict": "deny", "reason": "domain_not_allowed",
	} {
		if line[k] != v {
			t.Errorf("%s is %v, want %v", k, line[k], v)
		}
	}
	if !w.people.has("domain_not_allowed") {
		t.Error("nobody was told")
	}
}
