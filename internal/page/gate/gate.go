// SPDX-License-Identifier: Apache-2.0

// Package gate decides which requests reach a page: those that its own scripts make, in the browser that was given a link to it.
package gate

import (
	"net/http"
	"slices"
	"strings"
)

// policy lets a document load its own files and talk with its own server, and nothing else. No text becomes markup or a script, even by a mistake of
// the scripts: trusted-types takes the functions that would do it away.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Headers adds to each answer what keeps browsers from doing more with it than showing the page.
func Headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
		// What runs did and ask is in answers. It does not belong on the disk of the browser.
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// SameOrigin lets only requests to these origins through, as in http://127.0.0.1:8080, and of those that say where they are from only the page's own.
// A name that an attacker lets point to this address (DNS rebinding) is none of the origins, and neither is a foreign page that sends a form.
func SameOrigin(origins []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own := ""
		if i := slices.IndexFunc(origins, func(o string) bool { return strings.HasSuffix(o, "://"+r.Host) }); i >= 0 {
			own = origins[i]
		}
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site"); {
		case own == "":
			http.Error(w, "This page has another address: open the link that was printed.", http.StatusForbidden)
		case origin != "" && origin != own, origin == "" && !reads:
			http.Error(w, "Only the page itself may ask this.", http.StatusForbidden)
		// A link that a person follows, and an address that they type, lead to documents alone.
		case site != "" && site != "same-origin" && (!reads || r.Header.Get("Sec-Fetch-Mode") != "navigate"):
			http.Error(w, "Only the page itself may ask this.", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
