package fetch

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// dispatch passes req to the driver of its scheme, or to the driver for a forward proxy that
// retrieves the URL. It enforces Ops: drivers get only operations that they declared. Schemes that
// only name things are exempt, because the errors of their drivers explain more.
func (c *Client) dispatch(ctx context.Context, req *Request) (*Response, error) {
	name, prov := req.URL.Scheme(), provenanceOf(ctx)
	if proxy := prov.proxy; proxy.forward {
		name = proxy.url.Scheme()
	}
	s, ok := c.registry.Lookup(name)
	if !ok {
		return nil, unknownScheme(name)
	}
	if !serves(s, req.Op) {
		return nil, refuseOp(s, req.Op)
	}
	resp, err := s.Driver.Open(ctx, req)
	if err != nil {
		return nil, prov.maskError(req, err)
	}
	if resp == nil || resp.Body == nil {
		return nil, ErrProtocol.Errorf("the %s driver returned no body", s.Name)
	}
	resp.Reply = prov.maskReply(req, resp.Reply)
	return resp, nil
}

// serves reports whether requests for op are passed to the driver. A driver for names gets all of
// them, to explain why it cannot serve them.
func serves(s Scheme, op Op) bool { return s.Can(op) || len(s.Ops) == 0 }

func refuseOp(s Scheme, op Op) error {
	if s.State() == "session" {
		return &Error{Code: ErrInteractive,
			Err:  fmt.Errorf("%s is a session: %w", s.Name, errors.ErrUnsupported),
			Hint: "open it as a session, from a terminal or with input to send"}
	}
	action := map[Op]string{OpGet: "no content, only listings", OpStat: "no metadata without the content",
		OpList: "no listings", OpDial: "no sessions"}[op]
	return ErrNotRetrievable.Errorf("%s has %s: %w", s.Name, action, errors.ErrUnsupported)
}

func unknownScheme(name string) error {
	e := &Error{Code: ErrScheme, Err: fmt.Errorf("%q is not registered", name),
		Reason: Reason{Kind: ReasonNoDriver, Scheme: name}, Hint: "a gateway could serve it"}
	switch {
	case strings.HasPrefix(name, "x-"): // experimental (RFC 1738, section 2.1)
		e.Hint = "put a program urlget-" + name + " on PATH, or let a gateway serve it"
	case name == "":
		e.Code, e.Err, e.Hint, e.Reason = ErrURL, errors.New("the URL has no scheme"), "", Reason{}
	}
	return e
}
