// keda_client asks an external scaler through KEDA's own client package: keda_client HOST:PORT [JSON].
//
// JSON: {"calls": [{"method", "metadata", "name"}], "streams": N, "objects": N, "ca", "cert", "key"}. Prints a
// line of JSON for each answer, with the fields that this version of KEDA knows, those of value zero too.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

type call struct {
	Method   string            `json:"method"`
	Metadata map[string]string `json:"metadata"`
	Name     string            `json:"name"`
}

type options struct {
	Calls   []call `json:"calls"`
	Streams int    `json:"streams"` // parked on the same connection
	Objects int    `json:"objects"` // each asks all the calls, together; 1 if not said
	CA      string `json:"ca"`
	Cert    string `json:"cert"`
	Key     string `json:"key"`
}

var (
	out   = bufio.NewWriter(os.Stdout)
	outMu sync.Mutex
)

func say(line []byte) {
	outMu.Lock()
	defer outMu.Unlock()
	out.Write(line)
	out.WriteByte('\n')
	out.Flush()
}

func sayAnswer(kind string, message proto.Message, err error) {
	answer := map[string]any{"kind": kind}
	if err != nil {
		answer["code"], answer["details"] = int(status.Code(err)), status.Convert(err).Message()
	} else {
		text, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(message)
		check(err)
		answer["message"] = json.RawMessage(text)
	}
	line, err := json.Marshal(answer)
	check(err)
	say(line)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "keda_client:", err)
		os.Exit(1)
	}
}

func transport(o options) credentials.TransportCredentials {
	if o.CA == "" {
		return insecure.NewCredentials()
	}
	pem, err := os.ReadFile(o.CA)
	check(err)
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		check(errors.New("no certificate in " + o.CA))
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		check(err)
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config)
}

func ask(client pb.ExternalScalerClient, c call, object int) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ref := &pb.ScaledObjectRef{Name: fmt.Sprintf("object-%d", object), Namespace: "default", ScalerMetadata: c.Metadata}
	switch c.Method {
	case "IsActive":
		message, err := client.IsActive(ctx, ref)
		sayAnswer(c.Method, message, err)
	case "GetMetricSpec":
		message, err := client.GetMetricSpec(ctx, ref)
		sayAnswer(c.Method, message, err)
	case "GetMetrics":
		message, err := client.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: ref, MetricName: c.Name})
		sayAnswer(c.Method, message, err)
	case "StreamIsActive": // until it ends, or stdin does
		parked, leave := context.WithCancel(context.Background())
		go func() {
			io.Copy(io.Discard, os.Stdin)
			leave()
		}()
		follow(parked, client, ref, true)
	default:
		check(errors.New("no method " + c.Method))
	}
}

// As KEDA reads its stream: to its end, where io.EOF is a good one.
func follow(ctx context.Context, client pb.ExternalScalerClient, ref *pb.ScaledObjectRef, says bool) {
	stream, err := client.StreamIsActive(ctx, ref)
	check(err)
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			if says {
				say([]byte(`{"kind":"end","code":0}`))
			}
			return
		}
		if says {
			sayAnswer("StreamIsActive", message, err)
		}
		if err != nil {
			return
		}
	}
}

func main() {
	o := options{Objects: 1}
	if len(os.Args) != 3 {
		check(errors.New("keda_client HOST:PORT JSON"))
	}
	check(json.Unmarshal([]byte(os.Args[2]), &o))
	connection, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(transport(o)))
	check(err)
	client := pb.NewExternalScalerClient(connection)
	for i := 0; i < o.Streams; i++ {
		ref := &pb.ScaledObjectRef{Name: fmt.Sprintf("parked-%d", i), Namespace: "default", ScalerMetadata: o.Calls[0].Metadata}
		go follow(context.Background(), client, ref, false)
	}
	var asked sync.WaitGroup
	for i := 0; i < o.Objects; i++ {
		asked.Add(1)
		go func() {
			defer asked.Done()
			for _, c := range o.Calls {
				ask(client, c, i)
			}
		}()
	}
	asked.Wait()
}
