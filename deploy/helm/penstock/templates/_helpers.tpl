{{- /* What an engine's page calls what it runs and what it has waiting (docs/engines.md), as patterns of a line's start. */ -}}
{{- define "penstock.load" -}}
vllm: {running: 'vllm:num_requests_running', waiting: 'vllm:num_requests_waiting'}
sglang: {running: 'sglang:num_running_reqs', waiting: 'sglang:num_queue_reqs'}
tgi: {running: 'tgi_batch_current_size', waiting: 'tgi_queue_size'}
triton: {running: 'nv_trt_llm_request_metrics.*request_type="scheduled"', waiting: 'nv_trt_llm_request_metrics.*request_type="waiting"|nv_inference_pending_request_count'}
llamacpp: {running: 'llamacpp:requests_processing', waiting: 'llamacpp:requests_deferred'}
{{- end }}
{{- /* What renders and would not work is said here, not at the first scale-in. */ -}}
{{- define "penstock.refuse" -}}
{{- $watch := eq .Values.discovery "watch" -}}
{{- if not (has .Values.discovery (list "watch" "dns")) -}}
{{- fail (printf "discovery: %s: it is watch or dns" .Values.discovery) -}}
{{- end -}}
{{- if not (has .Values.scaling.trigger (list "push" "prometheus")) -}}
{{- fail (printf "scaling.trigger: %s: it is push or prometheus" .Values.scaling.trigger) -}}
{{- end -}}
{{- if not $watch -}}
{{- if not .Values.drainToken.secretName -}}
{{- fail "discovery: dns: engines cannot ask for their drain, and each scale-in would break streams: make a Secret with the keys admin and drain, and name it in drainToken.secretName" -}}
{{- end -}}
{{- if gt (int .Values.scaling.warm) 0 -}}
{{- fail "scaling.warm: replicas are kept warm only with discovery: watch; set scaling.warm to 0, or raise scaling.min" -}}
{{- end -}}
{{- if not .Values.engine.enabled -}}
{{- fail "engine.enabled: false: engines of your own are found with discovery: watch" -}}
{{- end -}}
{{- else if and .Values.engine.enabled (not (hasKey (include "penstock.load" . | fromYaml) .Values.pool.engine)) -}}
{{- fail (printf "pool.engine: %s: no page is known that says whether it is idle, so its preStop cannot wait for that: use discovery: dns, where the gateways are asked" .Values.pool.engine) -}}
{{- end -}}
{{- if and .Values.scaling.enabled (not .Values.engine.enabled) (not .Values.engine.deployment) -}}
{{- fail "engine.enabled: false: name the Deployment that KEDA scales in engine.deployment, or set scaling.enabled to false" -}}
{{- end -}}
{{- if ne (int .Values.gateway.replicas) (int (dig "gateways" 1 .Values.config)) -}}
{{- fail "gateway.replicas: gateways share the replicas' slots: set config.gateways to the same number" -}}
{{- end -}}
{{- end }}
{{- define "penstock.name" -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- end }}
{{- define "penstock.engine" -}}{{ include "penstock.name" . }}-{{ .Values.pool.name }}{{- end }}
{{- define "penstock.labels" -}}
app.kubernetes.io/name: penstock
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "penstock.gatewayLabels" -}}
{{ include "penstock.labels" . }}
app.kubernetes.io/component: gateway
{{- end }}
{{- define "penstock.engineLabels" -}}
{{ include "penstock.labels" . }}
app.kubernetes.io/component: engine
penstock/pool: {{ .Values.pool.name }}
{{- end }}
{{- define "penstock.selector" -}}
app.kubernetes.io/instance={{ .Release.Name }},penstock/pool={{ .Values.pool.name }}
{{- end }}
{{- define "penstock.config" -}}
{{- $admin := ternary "[::]:9900" "127.0.0.1:9900" (ne .Values.drainToken.secretName "") -}}
listen: "[::]:8080"
metrics: "[::]:9901"
admin: {{ $admin | quote }}
{{- if .Values.drainToken.secretName }}
admin_token: {file: /etc/penstock/tokens/admin}
drain_token: {file: /etc/penstock/tokens/drain}
{{- end }}
drain: {deadline: {{ .Values.gateway.drainDeadline }}}
keda:
  listen: "[::]:9902"
{{- if .Values.tls.secretName }}
  cert: /etc/penstock/tls/tls.crt
  key: /etc/penstock/tls/tls.key
  client_ca: /etc/penstock/tls/ca.crt
{{- end }}
pools:
  - name: {{ .Values.pool.name }}
    engine: {{ .Values.pool.engine }}
    models: [{{ .Values.engine.model | quote }}]
    slots: {{ .Values.pool.slots }}
    stall: {{ .Values.pool.stall }}
{{- with .Values.pool.warmup }}
    warmup: {prompts: {{ toJson . }}}
{{- end }}
    replicas:
{{- if eq .Values.discovery "watch" }}
      kubernetes:
        namespace: {{ .Release.Namespace }}
        selector: {{ include "penstock.selector" . | quote }}
        port: {{ .Values.engine.port }}
{{- else }}
      dns: {name: {{ include "penstock.engine" . }}.{{ .Release.Namespace }}.svc.cluster.local, port: {{ .Values.engine.port }}}
{{- end }}
    scaler:
      min: {{ .Values.scaling.min }}
      max: {{ .Values.scaling.max }}
{{- with .Values.scaling.warm }}
      warm: {{ . }}
{{- end }}
      out_above: {{ .Values.scaling.outAbove }}
      in_below: {{ .Values.scaling.inBelow }}
      in_after: {{ .Values.scaling.inAfter }}
      start_time: {{ .Values.scaling.startTime }}
      start_timeout: {{ .Values.scaling.startTimeout }}
      drain_deadline: {{ .Values.scaling.drainDeadline }}
{{- with .Values.scaling.costPerHour }}
      cost_per_hour: {{ . }}
{{- end }}
{{- end }}
{{- /* The file: what the values make, the pool's own keys over it, and those of the whole over that. */ -}}
{{- define "penstock.file" -}}
{{- $made := include "penstock.config" . | fromYaml -}}
{{- $pool := mergeOverwrite (first $made.pools) (deepCopy .Values.pool.config) -}}
{{- mergeOverwrite (set $made "pools" (list $pool)) (deepCopy .Values.config) | toYaml -}}
{{- end }}
