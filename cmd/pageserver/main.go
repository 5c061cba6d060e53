// SPDX-License-Identifier: Apache-2.0

// The pageserver serves the page to the persons of a cluster, who log in with OpenID Connect. See internal/pageserver.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/internal/pageserver"
)

const (
	// headerTime, readTime, writeTime and idleTime bound a connection. Streams of changes set their own.
	headerTime, readTime, writeTime, idleTime = 5 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute
	// maxHeader is the most bytes of the headers of a request: cookies have most of them.
	maxHeader = 32 << 10
	// noPrefix is the value of a prefix that is none, as for the API server.
	noPrefix = "-"
)

// list is a flag that can be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

// options are the flags.
type options struct {
	listen, health    string
	certFile, keyFile string
	plain             bool
	shutdownDelay     time.Duration
	caFile            string
	keys, scopes      list
	groups            list
	page              pageserver.Options
}

func (o *options) bind(f *flag.FlagSet) {
	f.StringVar(&o.listen, "listen", ":8443", "the address for browsers")
	f.StringVar(&o.health, "health-listen", ":8081", "the address for /healthz and /readyz")
	f.StringVar(&o.certFile, "tls-cert-file", "", "the certificate of the address for browsers, PEM; it is read again when it changes")
	f.StringVar(&o.keyFile, "tls-key-file", "", "the key of the certificate, PEM")
	f.BoolVar(&o.plain, "plain-http", false, "serve without TLS: cookies are readable on the way, so only behind a proxy that has TLS, where a mesh encrypts the rest")
	f.DurationVar(&o.shutdownDelay, "shutdown-delay", 5*time.Second, "how long to serve after the signal to end: nodes still send connections")
	f.IntVar(&o.page.Windows, "max-windows", 256, "how many windows of all persons are told of changes at once")
	l := &o.page.Login
	f.StringVar(&l.URL, "url", "", "the address of the page, as browsers know it: https and a host, without a path; requests to other hosts are refused")
	f.StringVar(&l.Issuer, "oidc-issuer-url", "", "the URL of the issuer, exactly as in its tokens")
	f.StringVar(&l.ClientID, "oidc-client-id", "", "the name of the page at the issuer, which tokens must be for")
	f.StringVar(&l.SecretFile, "oidc-client-secret-file", "", "the secret of the page at the issuer; it is read again with each login")
	f.StringVar(&o.caFile, "oidc-ca-file", "", "the certificates that sign that of the issuer, PEM; without it, those of the system")
	f.Var(&o.scopes, "oidc-scope", "a scope to ask for beside openid; can be given several times")
	f.StringVar(&l.Names.UserClaim, "oidc-username-claim", "sub", "the claim with the name of a person; with email, the issuer must say that it has verified it")
	f.StringVar(&l.Names.GroupsClaim, "oidc-groups-claim", "", "the claim with the groups of a person; without it, a person has none")
	f.StringVar(&l.Names.UserPrefix, "oidc-username-prefix", "oidc:", "what comes before each name of a person, - for nothing; as for the API server, so that names are the same")
	f.StringVar(&l.Names.GroupsPrefix, "oidc-groups-prefix", "oidc:", "what comes before each name of a group, - for nothing")
	f.Var(&o.groups, "oidc-group", "a group that counts, with its prefix; can be given several times; without it, all count")
	f.Var(&o.keys, "session-key-file", "a file with 32 random bytes or more, which encrypts sessions; can be given several times: the first encrypts, each decrypts")
	f.DurationVar(&l.Life, "session-life", 8*time.Hour, "how long a login lasts, at most 24h; who loses a group keeps it here until then")
}

func (o *options) check() error {
	switch {
	case o.plain && (o.certFile != "" || o.keyFile != ""):
		return errors.New("--plain-http and a certificate exclude each other")
	case !o.plain && (o.certFile == "" || o.keyFile == ""):
		return errors.New("--tls-cert-file and --tls-key-file are needed: browsers send cookies")
	case o.shutdownDelay < 0:
		return errors.New("--shutdown-delay is less than 0")
	}
	return nil
}

// complete puts the flags that need work into the options of the page.
func (o *options) complete() error {
	l := &o.page.Login
	l.KeyFiles, l.Scopes, l.Names.OnlyGroups = o.keys, o.scopes, o.groups
	for _, prefix := range []*string{&l.Names.UserPrefix, &l.Names.GroupsPrefix} {
		if *prefix == noPrefix {
			*prefix = ""
		}
	}
	if o.caFile == "" {
		return nil
	}
	content, err := os.ReadFile(o.caFile)
	if err != nil {
		return fmt.Errorf("read the certificates of the issuer: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(content) {
		return fmt.Errorf("%s has no certificate", o.caFile)
	}
	l.HTTP = &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConns: 8, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
	}}
	return nil
}

func main() {
	var o options
	o.bind(flag.CommandLine)
	version := flag.Bool("version", false, "print the version and end")
	flag.Parse()
	if *version {
		fmt.Println(motorcortex.Version())
		return
	}
	handler := slog.NewJSONHandler(os.Stderr, nil)
	log := slog.New(handler)
	klog.SetLogger(logr.FromSlogHandler(handler))
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := start(ctx, &o, log)
	stop()
	if err != nil {
		log.Error("the page server cannot go on", "error", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, o *options, log *slog.Logger) error {
	if err := errors.Join(o.check(), o.complete()); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen for browsers: %w", err)
	}
	return run(ctx, o, config, listener, log)
}

// run serves until ctx is done, and then for the time that the options set.
func run(ctx context.Context, o *options, config *rest.Config, listener net.Listener, log *slog.Logger) error {
	defer func() { _ = listener.Close() }() // The server has closed it, if there was one.
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer end()
	if !o.plain {
		certificate, err := certwatcher.New(o.certFile, o.keyFile)
		if err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
		helpers.Go(func() {
			if err := certificate.Start(base); err != nil {
				log.Error("a new certificate will not be read", "error", err)
			}
		})
		listener = tls.NewListener(listener, &tls.Config{
			MinVersion: tls.VersionTLS12, GetCertificate: certificate.GetCertificate, NextProtos: []string{"http/1.1"},
		})
	}
	page, err := pageserver.New(config, o.page, log)
	if err != nil {
		return err
	}
	defer page.Close()
	stopHealth, err := serveHealth(base, o.health, func() bool { return ctx.Err() == nil })
	if err != nil {
		return err
	}
	defer stopHealth()
	h := &http.Server{
		Handler: page, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug), // Connections that a stranger breaks off are no event.
	}
	helpers.Go(func() {
		select {
		case <-ctx.Done():
			wait(base, o.shutdownDelay)
		case <-base.Done():
		}
		end()
		_ = h.Close() // Streams stay open for ever: they are not waited for.
	})
	log.Info("the page server listens", "address", listener.Addr().String(), "url", o.page.Login.URL, "issuer", o.page.Login.Issuer)
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve browsers: %w", err)
	}
	log.Info("the page server has ended")
	return nil
}

// wait returns after a time, or when the context is done.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// serveHealth answers the probes of the node. The returned function ends it.
func serveHealth(ctx context.Context, address string, ready func() bool) (stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for probes: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "the server ends", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	h := &http.Server{Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Serve(listener) // It returns when it is closed.
	}()
	return func() { _ = h.Close(); <-ended }, nil
}
