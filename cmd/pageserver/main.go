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
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/internal/pageserver"
	"motorcortex.dev/motorcortex/internal/serving"
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
	serving      serving.Options
	caFile       string
	keys, scopes list
	groups       list
	page         pageserver.Options
}

func (o *options) bind(f *flag.FlagSet) {
	o.serving.Bind(f, "browsers", "cookies are readable on the way, so only behind a proxy that has TLS, where a mesh encrypts the rest")
	f.IntVar(&o.page.Windows, "max-windows", 256, "how many windows of all persons are told of changes at once")
	f.StringVar(&o.page.Slack.SecretFile, "slack-signing-secret-file", "", "the signing secret of an app of Slack whose buttons answer runs; it is read again with each request; without it, Slack gets no answer")
	f.StringVar(&o.page.Slack.UsersFile, "slack-users-file", "", "the users of the cluster that the people of Slack are, in YAML; it is read again with each request")
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
	if (o.page.Slack.SecretFile == "") != (o.page.Slack.UsersFile == "") {
		return errors.New("--slack-signing-secret-file and --slack-users-file go together")
	}
	return o.serving.Check("browsers send cookies")
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
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.serving.Listen)
	if err != nil {
		return fmt.Errorf("listen for browsers: %w", err)
	}
	return run(ctx, o, config, listener, log)
}

func run(ctx context.Context, o *options, config *rest.Config, listener net.Listener, log *slog.Logger) error {
	page, err := pageserver.New(config, o.page, log)
	if err != nil {
		_ = listener.Close() // It is not used, whatever closing it comes to.
		return err
	}
	defer page.Close()
	err = serving.Run(ctx, &o.serving, listener, log, func(ctx context.Context) (*http.Server, func(), error) {
		log.Info("the page server listens", "address", listener.Addr().String(), "url", o.page.Login.URL, "issuer", o.page.Login.Issuer)
		return &http.Server{
			Handler: page, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
			BaseContext: func(net.Listener) context.Context { return ctx },
		}, nil, nil
	})
	if err != nil {
		return fmt.Errorf("serve browsers: %w", err)
	}
	log.Info("the page server has ended")
	return nil
}
