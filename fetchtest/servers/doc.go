// Package servers is what the test servers below it have in common: how they start and stop, what
// they log, and how they fail on request.
//
// Each package below is a small server for the tests of clients, as net/http/httptest is for HTTP:
// csod, dictd, fingerd, ftpd, geminid, gopherd, imapd, nexd, nfsd, nntpd, popd, prosperod, sftpd, smbd,
// spartand, telnetd, tftpd, waisd, whoisd and z3950d. All listen on a port of the loopback interface and are used in one way:
//
//	s := ftpd.Start(t, ftpd.Options{Tree: os.DirFS("testdata")}) // stops when the test ends
//	get(s.URL + "/readme.txt")                                   // the client under test
//	s.Log()                                                      // the commands that it sent
//
// Outside of tests, New starts the same server and returns an error, and Close stops it.
//
// # Faults
//
// Fail makes the next reply with a content fail: a file, an article, a listing. Arm says more about
// it: the command whose reply fails, the place in the content, how often.
//
//	s.Fail(servers.Cut)
//	s.Arm(servers.Failure{Fault: servers.Drip, On: servers.Greeting, Every: time.Second})
//	s.Arm(servers.Failure{Fault: servers.Stall, On: "RETR", After: 1000, Times: -1})
//
// # More servers
//
// Start and New start a server for a protocol that has none here. It logs and fails like the others
// if it reads by Conn.ReadLine and writes by Conn.Reply and Conn.Content. Certificate is for
// servers with TLS.
package servers
