package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/config"
	"github.com/urlget/urlget/fetch"
)

// addFields is a middleware that adds the header fields of the configuration file to each request.
// It uses the URL of the request, so a redirect does not carry them to another host.
func (n *network) addFields(next fetch.Driver) fetch.Driver {
	return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		return next.Open(ctx, n.withFields(req))
	})
}

// withFields returns req with these fields. Fields of the command line take precedence.
func (n *network) withFields(req *fetch.Request) *fetch.Request {
	return n.config.WithFields(req, n.opts.Request.Agent != "" && n.typedFlag("user-agent"))
}

// configure sets flags from the configuration file unless the command line sets them.
func (n *network) configure(cmd *cobra.Command) error {
	n.opts.Use(cmd.Flags())
	file, err := config.Read(&n.opts.Config, n.table)
	if err != nil {
		return err
	}
	n.config = file
	return file.Apply(cmd, n.opts, n.table)
}

// typedFlag reports whether a flag is from the command line, not from the configuration file.
func (n *network) typedFlag(name string) bool { return n.opts.Given(name) && !n.config.Applied(name) }
