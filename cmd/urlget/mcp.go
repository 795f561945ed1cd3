package main

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/mcptools"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	browse "github.com/urlget/urlget/serve"
)

func mcpCommand(p *program) *cobra.Command {
	return p.withFlags(flags.MCP, &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Be a server of the Model Context Protocol",
		Long: `Be a server of the Model Context Protocol on standard input and output: a
program such as an assistant starts it and gets the tools fetch, list and stat
for URLs of all schemes, and search with --replay. The policy for URLs of
untrusted parties applies: no local files, no private addresses, no ports of
other services, no logins. --warc records all of it; --replay and --replay-only
answer from an archive.`,
		Example: `  urlget mcp --warc session
  urlget mcp --replay session.warc.gz --replay-only`,
		Args: noArguments,
		RunE: p.runs(runMCP),
	})
}

func runMCP(p *program, cmd *cobra.Command, _ []string) error {
	if err := p.configure(cmd); err != nil {
		return err
	}
	if err := p.opts.Check(p.table); err != nil {
		return err
	}
	n := p.net
	n.sequential, n.dialog.Prompt = true, tty.Prompt{} // standard input has the protocol
	ctx, err := n.openArchives(cmd.Context(), nil)
	if err != nil {
		return err
	}
	opts, err := n.untrustedOptions()
	if err != nil {
		return err
	}
	if opts.Policy.MaxSize == 0 {
		opts.Policy.MaxSize = mcptools.MaxContent
	}
	tools := mcptools.Options{Client: n.clientWith(opts), Version: programVersion(),
		MaxTime: time.Duration(n.opts.Network.MaxTime)}
	defer tools.Client.Close()
	if r := n.archives.replay; r != nil {
		reader, policy := *opts, *opts.Policy
		policy.AllowPrivate = true // nothing is sent
		reader.Policy = &policy
		how := replay.Options{Only: true, Near: n.opts.Archive.Near}
		reader.Middleware = append(n.observers(), browse.Archived(r, how))
		c := n.clientWith(&reader)
		defer c.Close()
		tools.Pages = browse.New(browse.Options{Client: c, Archive: r, ArchiveOnly: true})
	}
	switch err = mcptools.Run(ctx, tools, p.rep.std.in, p.rep.std.out); {
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, new(*fs.PathError)): // of standard input or output
		err = failure.File(err)
	case err != nil:
		err = &fetch.Error{Op: "serve", Code: fetch.ErrProtocol, Err: err}
	}
	return err
}

func (n *network) untrustedOptions() (*fetch.Options, error) {
	opts, err := n.options()
	if err != nil {
		return nil, err
	}
	opts.MaxErrorBody = maxErrorPage
	own := n.withoutSecrets(opts)
	strict := *own.Policy
	// which sends nothing
	strict.Untrusted, strict.AllowPrivate = true, strict.AllowPrivate || n.opts.Archive.ReplayOnly
	own.Policy = &strict
	return &own, nil
}
