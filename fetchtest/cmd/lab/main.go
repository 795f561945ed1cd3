// Lab starts small servers on loopback, to try clients on them. On request the servers fail, or a
// proxy disturbs their connections.
//
//	go run ./fetchtest/cmd/lab -help
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urlget/urlget/fetchtest/faultproxy"
	"github.com/urlget/urlget/fetchtest/loopback"
	"github.com/urlget/urlget/fetchtest/servers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(help())
		return
	}
	if err == nil {
		err = run(ctx, os.Stdout, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		stop()
		if usage := (usageError)(""); errors.As(err, &usage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

const (
	firstPort = 18200
	behind    = 100 // distance of the ports of servers behind the proxy
	hostile   = "hostile"
)

// names returns the names of all servers, in the order of their ports.
func names() []string { return append(loopback.Schemes(), hostile) }

type options struct {
	servers     []string
	port        int
	fault       faultproxy.Fault
	times       int
	fail        servers.Fault
	certificate string
}

// A usageError is an error in the command line.
type usageError string

func (e usageError) Error() string { return string(e) + "; see -help" }

// parse parses the command line. It returns flag.ErrHelp for -help.
func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("lab", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&o.port, "port", firstPort, "")
	fault := flags.String("fault", "", "")
	flags.Int64Var(&o.fault.After, "after", 1000, "")
	flags.IntVar(&o.times, "times", 0, "")
	flags.DurationVar(&o.fault.Delay, "delay", 20*time.Millisecond, "")
	fail := flags.String("fail", "", "")
	flags.StringVar(&o.certificate, "certificate", "", "")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return o, err
	} else if err != nil {
		return o, usageError(err.Error())
	}
	if o.servers = flags.Args(); len(o.servers) == 0 {
		o.servers = names()
	}
	for _, s := range o.servers {
		if !slices.Contains(names(), s) {
			return o, usageError(fmt.Sprintf("no server %q", s))
		}
	}
	if o.port < 1 || o.port+behind+len(names()) > 0xffff {
		return o, usageError(fmt.Sprintf("port %d: want a number from 1 to %d", o.port,
			0xffff-behind-len(names())))
	}
	if *fault != "" {
		i := slices.IndexFunc(faultproxy.Kinds(), func(k faultproxy.Kind) bool { return word(k) == *fault })
		if i < 0 {
			return o, usageError(fmt.Sprintf("no fault %q: want one of %s", *fault, list(faultproxy.Kinds())))
		}
		o.fault.Kind = faultproxy.Kinds()[i]
	}
	if *fail != "" {
		i := slices.IndexFunc(servers.Faults(), func(f servers.Fault) bool { return word(f) == *fail })
		if i < 0 {
			return o, usageError(fmt.Sprintf("no failure %q: want one of %s", *fail, list(servers.Faults())))
		}
		o.fail = servers.Faults()[i]
	}
	return o, nil
}

// word returns the name of a fault as an argument.
func word(f fmt.Stringer) string { return strings.ReplaceAll(f.String(), " ", "-") }

func list[F fmt.Stringer](all []F) string {
	var words []string
	for _, f := range all {
		words = append(words, word(f))
	}
	return strings.Join(words, ", ")
}

// run runs the servers until ctx ends.
func run(ctx context.Context, out io.Writer, o options) error {
	proxy := &faultproxy.Proxy{Limit: o.times, Pick: func() faultproxy.Fault { return o.fault }}
	defer proxy.Close()
	// addrs returns the address to listen on, and the one for clients.
	addrs := func(name string) (listen, public string) {
		port := o.port + slices.Index(names(), name)
		public = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if o.fault.Kind == faultproxy.None || name == "prospero" || name == "tftp" {
			return public, public
		}
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(port+behind)), public
	}
	var all []loopback.Server
	schemes := slices.DeleteFunc(slices.Clone(o.servers), func(name string) bool { return name == hostile })
	v, err := loopback.New(loopback.Options{Schemes: schemes, Listen: addrs})
	if err != nil {
		return fmt.Errorf("%w; use -port to set another first port", err)
	}
	defer v.Close()
	all = append(all, v.All...)
	if slices.Contains(o.servers, hostile) {
		listen, _ := addrs(hostile)
		h, err := loopback.Hostile(listen, nil)
		if err != nil {
			return fmt.Errorf("%w; use -port to set another first port", err)
		}
		defer h.Close()
		all = append(all, loopback.Server{Scheme: hostile, Addr: h.Addr, Path: "/"})
	}
	var text strings.Builder
	for _, s := range all {
		listen, public := addrs(s.Scheme)
		if listen != public {
			forward := proxy.Forward
			if s.Scheme == "ftp" {
				forward = proxy.ForwardFTP
			}
			if _, err := forward(public, listen); err != nil {
				return fmt.Errorf("%w; use -port to set another first port", err)
			}
		}
		note := ""
		if o.fault.Kind != faultproxy.None && listen == public {
			note = "  (not disturbed: UDP)"
		}
		if o.fail != servers.None {
			if s.Arm != nil && s.Can(o.fail) {
				s.Arm(servers.Failure{Fault: o.fail, Times: -1})
			} else {
				note += "  (does not fail)"
			}
		}
		scheme := s.Scheme
		if scheme == hostile {
			scheme = "http"
		}
		fmt.Fprintf(&text, "%s://%s%s%s\n", scheme, login(scheme), public+s.Path, note)
	}
	if o.certificate != "" {
		if err := os.WriteFile(o.certificate, v.PEM, 0o644); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "%sserving; stop with kill %d\n", &text, os.Getpid()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// login returns the login in the URLs of mailboxes, whose server accepts any.
func login(scheme string) string {
	if scheme == "imaps" || scheme == "pops" {
		return "alice:secret@"
	}
	return ""
}

// help returns the text for -help.
func help() string {
	var b strings.Builder
	fmt.Fprintf(&b, `Usage: lab [flags] [SERVER...]

Lab starts small servers on loopback, prints the URL of a document of each, and runs until
it is interrupted. All serve the same files. Without arguments it starts all servers:

`)
	for i, name := range names() {
		fmt.Fprintf(&b, "  %-10s port %d\n", name, firstPort+i)
	}
	fmt.Fprintf(&b, `
Flags:

  -port N            first port (default %d). Each server has the same distance from it.
  -certificate FILE  writes the certificate of the servers with TLS to FILE, for clients to trust
  -fault KIND        disturbs the connections of servers that use TCP, also the data connections
                     of ftp: %s.
                     The servers then use the ports from N+%d.
  -after N           bytes from the server before the fault (default 1000); 0 is its first byte
  -times N           number of connections to disturb (default 0: all)
  -delay TIME        time of the fault delay (default 20ms)
  -fail KIND         makes all replies with content fail in the server, in the middle:
                     %s.
                     http, https and hostile do not fail; hostile has its own failures.

The server "hostile" speaks HTTP and misbehaves according to the path. Where an earlier request
matters, it is the one with the same path, so use a new one for each try, such as
/changed/1/file.bin:

`, firstPort, list(faultproxy.Kinds()), behind, list(servers.Faults()))
	for _, l := range loopback.Lies() {
		fmt.Fprintf(&b, "  /%-16s %s\n", l.Name+"/", l.Does)
	}
	b.WriteString(`
Examples:

  go run ./fetchtest/cmd/lab                                  all servers
  go run ./fetchtest/cmd/lab -fault cut -times 1 http ftp     the first connection is cut
  go run ./fetchtest/cmd/lab -fail noise gopher               replies that are not Gopher
  go run ./fetchtest/cmd/lab hostile                          a hostile web server
`)
	return b.String()
}
