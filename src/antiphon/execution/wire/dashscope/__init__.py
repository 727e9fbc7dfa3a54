"""The native dialect of Alibaba Cloud's DashScope (Model Studio), which serves Qwen and others."""
